// Applies the deck's lists of shapes (initial, sources) to the cells of a block. initial: a shape covers
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

// Of sources and flux boundaries, W; or of the values of sources over cells, before scale and rounding.
struct HeatTotals {
  double net = 0, gross = 0;  // into the body, and of magnitudes
  Index cells = 0;            // with a source that is not 0
  friend HeatTotals operator+(const HeatTotals& a, const HeatTotals& b) {
    return {a.net + b.net, a.gross + b.gross, a.cells + b.cells};
  }
  friend HeatTotals operator*(Index times, const HeatTotals& a) {
    const auto n = static_cast<double>(times);
    return {n * a.net, n * a.gross, times * a.cells};
  }
};

// A list of shapes made ready, to be set block by block.
class RegionValues {
 public:
  // `key`: "initial" or "sources". `config` must outlive it. Throws Error(deck) where an entry cannot be set.
  RegionValues(const Config& config, std::vector<RegionValue> entries, std::string key);

  // Adds or sets each shape in order in fp64, stores `scale` times the sum, rounded to T, in all threads, and
  // returns the totals of sources. `field` is in host memory, of the global cells `subdomain`; no ghosts.
  // Values depend on global indices only. Throws Error(deck) with entry, cell and value where one is not
  // finite, a dataset does not fit, or an initial temperature is below 0 K.
  template <class T>
  HeatTotals apply(double scale, Box subdomain, FieldView<T> field) const;

  // From plane `z` (global) on, where do planes that hold what the one below holds end, by arithmetic alone?
  Index repeated_until(Index z, Index end) const;

  // Throws where a dataset is missing or of another shape.
  void check_datasets() const;

 private:
  class Brush;
  const Config& config_;
  std::vector<RegionValue> entries_;
  std::string key_;
  bool is_source_;
  bool has_void_;  // whose cells get 0: no entry reaches them
  std::shared_ptr<const std::vector<Brush>> brushes_;
};

// A line for each shape that does less than it seems to: sources partly outside the domain or in voids, with
// the share of the rest; `initial` without a cell centre. Throws Error(deck) where all of a source is lost.
std::vector<std::string> shape_warnings(const Config& config);

// Computed here, in all threads: over cells, of sources that are set once; in W, of all in the whole domain,
// at t = 0.
HeatTotals sum_regions(const RegionValues& values, Box subdomain);
HeatTotals sum_sources(const Config& config, Box subdomain);
HeatTotals source_totals(const Config& config);
// The share outside voids of a source's heat in the domain, at t = 0. Of a body that has voids.
double share_in_body(const Config& config, const RegionValue& source);
inline HeatTotals in_watts(const Config& config, const HeatTotals& over_cells) {
  const double volume = cell_volume(config);
  return {over_cells.net * volume, over_cells.gross * volume, over_cells.cells};
}

// The deck's sources and, for a manufactured solution, the source that it needs. Empty: the problem has none.
std::vector<RegionValue> all_sources(const Config& config);
// Those that are set once, as "sources"; the others are physics/varying_sources.hpp's.
std::vector<RegionValue> constant_sources(const Config& config);

}  // namespace isotherm
