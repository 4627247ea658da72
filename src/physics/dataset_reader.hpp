// Reads boxes of a (nz, ny, nx) dataset of an HDF5 file that may come from a stranger.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/field_view.hpp"

namespace isotherm {

enum class StoredType { fp32, fp64, integer };

// Of the cells in every file that isotherm writes.
inline constexpr const char* temperature_dataset = "/temperature";
// Of those in files of format 1.
inline constexpr const char* first_temperature_dataset = "/VTKHDF/PointData/T";

// Opened read-only by this process alone. A file can lead its reader elsewhere: external links, external
// storage, virtual datasets and filters that would load a plug-in are rejected by name, before any cell is
// read. Nothing is allocated by the file's word: the caller knows the shape that it wants.
class DatasetReader {
 public:
  // Throws Error(file_missing) for a file that cannot be read, else Error(deck) with what was expected and
  // found. A file of isotherm gives its temperature by any name that such files have or had.
  DatasetReader(const std::string& file, const std::string& dataset);

  Int3 cells() const { return cells_; }  // x is the last and fastest of the dataset's three axes
  StoredType type() const { return type_; }
  Int3 chunk() const;  // cells that lie together in the file, compressed or not; {1, 1, 1}: all of them do
  std::int64_t stored_bytes() const;  // in the file
  // The cells of `box`, x fastest, rounded to T: float, double, or std::int64_t. Throws Error(io).
  template <class T>
  void read(Box box, T* dense) const;

 private:
  struct Opened;       // what HDF5 knows of it
  std::string place_;  // "file.h5:/T"
  std::shared_ptr<const Opened> opened_;
  StoredType type_;
  Int3 cells_;
};

// Throws Error(deck) where the dataset is not of the grid's shape.
void check_shape(const DatasetReader& reader, const std::string& file, const std::string& dataset,
                 Int3 grid_cells);

// The cells of `box` of a dataset of the grid's shape, as double, x fastest. Throws as DatasetReader does.
std::vector<double> read_dataset_box(const std::string& file, const std::string& dataset, Int3 grid_cells,
                                     Box box);

// Throws Error(deck) where a file of isotherm holds cells of other sizes than the grid of the deck, of which
// one at least has several. Of equal cells nothing is asked.
void check_sizes_of_cells(const std::string& file, const Config& config);

// A field that an earlier run has left in a file.
struct StoredField {
  std::string file, dataset;  // of shape (nz, ny, nx)
  std::int64_t sweep = 0;     // of which it is the state
};

// The cells of `subdomain`, bit by bit, into `field` in host memory, but for ghosts. Throws as DatasetReader,
// and Error(deck) where shape or type are not those of the grid and T.
template <class T>
void read_field(const StoredField& stored, Int3 cells, Box subdomain, FieldView<T> field);

}  // namespace isotherm
