// Applies the deck's lists of shapes (initial, sources) to the cells of one block.
//
// initial: a shape covers a cell if the cell's centre is inside. sources: a box, sphere, cylinder or gaussian
// covers the share f of a cell's volume that lies inside it (physics/coverage.hpp). `add` adds f value; `set`
// mixes, s = (1 - f) s + f value. Both: constant, formula, dataset and exact cover every cell, formulas at
// its centre. Shapes do not wrap around periodic faces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// Of set sources, before scale and rounding.
struct RegionTotals {
  double sum = 0, magnitudes = 0;  // over cells
  Index cells = 0;                 // that are not 0
  friend RegionTotals operator+(const RegionTotals& a, const RegionTotals& b) {
    return {a.sum + b.sum, a.magnitudes + b.magnitudes, a.cells + b.cells};
  }
  friend RegionTotals operator*(Index times, const RegionTotals& a) {
    const auto n = static_cast<double>(times);
    return {n * a.sum, n * a.magnitudes, times * a.cells};
  }
};

// A list of shapes made ready, to be set block by block.
class RegionValues {
 public:
  // `key`: "initial" or "sources", where shape `exact` is the exact solution at t = 0 and the source it
  // needs. `config` must outlive it. Throws Error(deck) where an entry cannot be set.
  RegionValues(const Config& config, std::vector<RegionValue> entries, std::string key);

  // Adds or sets each shape in order in fp64, then stores `scale` times the sum, rounded to T, in all
  // threads. `field` is in host memory; `subdomain` holds its global cells. Ghosts are left alone. A cell's
  // value depends on its global index only. Returns the totals of sources. Throws Error(deck) with entry,
  // cell and value where a formula or dataset is not finite, a dataset does not fit, or an initial
  // temperature is below 0 K.
  template <class T>
  RegionTotals apply(double scale, Box subdomain, FieldView<T> field) const;

  // Does each plane of cells across z from `z`, a global index, hold what the one below it holds? Only where
  // that shows without a look at the cells. Returns where the planes that do so end, at `end` at most.
  Index repeated_until(Index z, Index end) const;

  // Throws where a dataset is missing or of another shape.
  void check_datasets() const;

 private:
  class Brush;
  const Config& config_;
  std::vector<RegionValue> entries_;
  std::string key_;
  bool is_source_;
  // Of each thread: what throws in a parallel region ends the program.
  std::shared_ptr<const std::vector<std::vector<Brush>>> brushes_;
};

// A line for each shape of the deck that does less than it seems to: sources that lie partly outside the
// domain, with the share inside; shapes of `initial` that hold no cell centre. Throws Error(deck) where a
// source lies outside.
std::vector<std::string> shape_warnings(const Config& config);

struct SourceTotals {
  double power = 0;  // W
  Index cells = 0;   // with a source
  friend SourceTotals operator+(const SourceTotals& a, const SourceTotals& b) {
    return {a.power + b.power, a.cells + b.cells};
  }
};
// Computed here, in all threads: of sources that are set once, and of all in the whole domain, at t = 0.
RegionTotals sum_regions(const RegionValues& values, Box subdomain);
RegionTotals sum_sources(const Config& config, Box subdomain);
SourceTotals source_totals(const Config& config);
SourceTotals source_totals(const Config& config, const RegionTotals& totals);

// The deck's sources and, for a manufactured solution, the source that it needs. Empty: the problem has none.
std::vector<RegionValue> all_sources(const Config& config);
// Those that are set once, as "sources"; the others are physics/varying_sources.hpp's.
std::vector<RegionValue> constant_sources(const Config& config);

}  // namespace isotherm
