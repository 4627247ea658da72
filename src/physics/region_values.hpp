// Applies the deck's lists of shapes (initial, sources) to the cells of a subdomain. initial: a shape covers
// cells whose centres are inside. sources: it covers the share f of a cell's volume in a box, sphere,
// cylinder or gaussian (physics/coverage.hpp). `add` adds f value; `set` mixes, s = (1 - f) s + f value.
// Constant, formula, dataset and exact cover every cell, formulas at its centre. Shapes do not wrap around
// periodic faces. Cells of a void are left out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// Heat of sources and flux boundaries, W; or sums of the values of sources over cells, unscaled, unrounded.
struct HeatTotals {
  double net = 0, gross = 0;  // into the body; sum of magnitudes
  Index cells = 0;            // with a source that is not 0
  friend HeatTotals operator+(const HeatTotals& a, const HeatTotals& b) {
    return {a.net + b.net, a.gross + b.gross, a.cells + b.cells};
  }
  friend HeatTotals operator*(Index times, const HeatTotals& a) {
    const auto n = static_cast<double>(times);
    return {n * a.net, n * a.gross, times * a.cells};
  }
};

// A list of shapes that is prepared once and then applied to any boxes of cells.
class RegionValues {
 public:
  // `key`: "initial" or "sources". `config` must outlive it. Throws Error(deck) if an entry is not valid.
  RegionValues(const Config& config, std::vector<RegionValue> entries, std::string key);

  // Adds or sets each shape in order in fp64, stores `scale` times the result, rounded to T, and returns the
  // totals of sources. Uses all threads. `field`: the global cells `subdomain`, in host memory; no ghosts.
  // Values depend on global indices only. Throws Error(deck) with entry, cell and value where one is not
  // finite, a dataset does not fit, or an initial temperature is below 0 K.
  template <class T>
  HeatTotals apply(double scale, Box subdomain, FieldView<T> field) const;

  // The first plane from `z` (global) on that may differ from the one below, or `end`; compares no cells.
  Index repeated_until(Index z, Index end) const;

  // Throws where a dataset is missing or of another shape.
  void check_datasets() const;

 private:
  class Region;
  const Config& config_;
  std::vector<RegionValue> entries_;
  std::string key_;
  bool is_source_;
  bool has_void_;  // cells of voids get 0: no entry reaches them
  std::shared_ptr<const std::vector<Region>> regions_;
};

// One line for each shape without its full effect: sources partly outside the domain or in voids, with the
// share that is inside; `initial` without a cell centre. Throws Error(deck) if all of a source is lost.
std::vector<std::string> shape_warnings(const Config& config);

// Totals, computed with all threads: of `values` over the cells; of sources that are stored once over the
// cells; of all sources in the domain at t = 0, W.
HeatTotals sum_regions(const RegionValues& values, Box subdomain);
HeatTotals sum_sources(const Config& config, Box subdomain);
HeatTotals source_totals(const Config& config);
const char* source_cells_note(const Config& config);  // text after the number of their cells
// A warning where sources with a power replace each other in part; else empty. `found`: source_totals().
std::string replaced_heat_text(const Config& config, const HeatTotals& found);
// The share of a source's heat in the domain that is outside voids, at t = 0.
double share_in_body(const Config& config, const RegionValue& source);
inline HeatTotals in_watts(const Config& config, const HeatTotals& over_cells) {
  const double volume = cell_volume(config);
  return {over_cells.net * volume, over_cells.gross * volume, over_cells.cells};
}

// The deck's sources and, for a manufactured solution, the source that it needs. Empty: the problem has none.
std::vector<RegionValue> all_sources(const Config& config);
// Those that are stored once, as "sources"; physics/varying_sources.hpp computes the others.
std::vector<RegionValue> constant_sources(const Config& config);

}  // namespace isotherm
