// Reads boxes of a (nz, ny, nx) dataset of an HDF5 file that may be untrusted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "core/box.hpp"
#include "grid/field.hpp"

namespace isotherm {

enum class StoredType { fp32, fp64, integer };

// The dataset of the cells in every file that isotherm writes.
inline constexpr const char* temperature_dataset = "/temperature";
// The same in files of format 1.
inline constexpr const char* first_temperature_dataset = "/VTKHDF/PointData/T";

// Opens the file read-only, by this process alone. Before it reads any cell, it rejects, with a message that
// names them, external links, external storage, virtual datasets and filters that would load a plug-in. No
// allocation depends on a size in the file: the caller knows the shape that it wants.
class DatasetReader {
 public:
  // Throws Error(file_missing) for a file that cannot be read, else Error(deck) with what was expected and
  // found. In a file of isotherm any present or former name of the temperature is valid.
  DatasetReader(const std::string& file, const std::string& dataset);

  Int3 cells() const { return cells_; }     // x is the last and fastest of the dataset's three axes
  void check_shape(Int3 grid_cells) const;  // throws Error(deck) where it has not these cells
  StoredType type() const { return type_; }
  Int3 chunk() const;                 // cells of a chunk of the file, compressed or not; {1, 1, 1}: no chunks
  std::int64_t stored_bytes() const;  // in the file
  // Stores the cells of `box`, rounded to T: float, double, or std::int64_t. Throws Error(io).
  template <class T>
  void read(Box box, FieldView<T> cells) const;
  template <class T>
  void read(Box box, T* dense) const {  // x fastest
    read(box, dense_view(dense, box.extent()));
  }

 private:
  struct Opened;       // its HDF5 handles
  std::string place_;  // "file.h5:/T"
  std::shared_ptr<const Opened> opened_;
  StoredType type_;
  Int3 cells_;
};

// Throws Error(deck) if a file that isotherm wrote, of the grid's shape, has cells of other sizes than the
// grid.
void check_sizes_of_cells(const std::string& file, const Config& config);

// A field that an earlier run stored in a file.
struct StoredField {
  std::string file, dataset;  // of shape (nz, ny, nx)
  std::int64_t sweep = 0;     // after which it was stored
};

// Copies the cells of `subdomain`, without ghosts and without rounding, into `field` in host memory. Throws
// as DatasetReader, and Error(deck) if shape or type are not those of the grid and T.
template <class T>
void read_field(const StoredField& stored, Int3 cells, Box subdomain, FieldView<T> field);

}  // namespace isotherm
