// A field that is kept to hold others against it, bit by bit, whatever their process grid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// Of two fields with different bits.
struct FieldDifference {
  Index cells = 0;                 // that differ, of the whole grid
  Int3 first;                      // of these, by the order of memory
  double expected = 0, found = 0;  // K, there
};
std::string text_of(const FieldDifference& difference, Int3 grid);

// This rank's block of a field of all ranks, in host memory, and the fingerprint of the whole.
template <class T>
struct BlockOfField {
  FieldView<const T> cells;
  Box block;  // of the grid
  std::uint64_t fingerprint;
};

template <class T>
class KeptField {
 public:
  // Collective: copies the block. `communicator` outlives it.
  KeptField(const Communicator& communicator, const BlockOfField<T>& field);

  std::uint64_t fingerprint() const { return fingerprint_; }
  // Collective, every rank returns the same: none where the field has these bits. Fingerprints are compared;
  // only where they differ are cells sent to the ranks that have them now.
  std::optional<FieldDifference> compare(const BlockOfField<T>& field) const;

 private:
  const Communicator& communicator_;
  std::vector<Box> blocks_;  // of all ranks
  std::vector<T> cells_;     // of this one, dense
  std::uint64_t fingerprint_;
};

}  // namespace isotherm
