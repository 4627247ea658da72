// A field that an earlier run has left in a file.
#pragma once

#include <cstdint>
#include <string>

#include "core/box.hpp"
#include "core/field_view.hpp"

namespace isotherm {

struct StoredField {
  std::string file, dataset;  // of shape (nz, ny, nx)
  std::int64_t sweep = 0;     // of which it is the state
};

// The cells of `block`, bit by bit, into `field` in host memory; ghosts are left alone. Nothing is allocated
// by the file's word. Throws as DatasetReader, and Error(deck) where shape or type are not those of the grid
// and T.
template <class T>
void read_field(const StoredField& stored, Int3 cells, Box block, FieldView<T> field);

}  // namespace isotherm
