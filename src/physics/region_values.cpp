#include "physics/region_values.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>

#include "config/parts.hpp"
#include "config/problems.hpp"
#include "core/text.hpp"
#include "physics/cells.hpp"
#include "physics/coverage.hpp"
#include "physics/dataset_reader.hpp"
#include "physics/exact.hpp"
#include "physics/region_materials.hpp"
#include "physics/varying_sources.hpp"

namespace isotherm {
namespace {

struct BadCell {
  Int3 cell;
  std::size_t entry = 0;
  double value = 0;
  bool is_too_cold = false;

  bool before(const BadCell& other) const {
    return std::tie(cell.z, cell.y, cell.x) < std::tie(other.cell.z, other.cell.y, other.cell.x);
  }
};

// One row of cells along x while the entries are applied to it.
struct Row {
  Int3 first;                               // global
  std::size_t place = 0;                    // of the first cell in the subdomain, x fastest
  std::vector<double> sums;                 // K or W/m^3, one per cell
  std::vector<double> shares;               // of the current entry
  std::vector<std::size_t> not_finite_by;   // the last entry with such a value, where a sum is not finite
  std::span<const std::uint8_t> is_void{};  // of each cell; empty: none is
  std::optional<BadCell> bad;               // the first
};

// Converts sums of sources to those of a cell of the grid's first size: multiplies each by the relative
// volume of its cell.
void weigh(std::vector<double>& sums, const CellWeights& volumes, Index y, Index z) {
  if (!volumes.any()) return;
  const double of_row = volumes.of(1, y) * volumes.of(2, z);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] *= volumes.of(0, static_cast<Index>(i)) * of_row;
}

// Stores the sums of a row, and the first cell that the precision cannot hold or that is below 0 K.
template <class T>
void store(Row& row, double scale, double lowest, std::size_t entries, T* cells) {
  bool good = true;
  for (std::size_t i = 0; i < row.is_void.size(); ++i)
    if (row.is_void[i] != 0) row.sums[i] = std::max(0.0, lowest);
  for (std::size_t i = 0; i < row.sums.size(); ++i) {
    cells[i] = static_cast<T>(scale * row.sums[i]);
    good = good && std::abs(cells[i]) <= std::numeric_limits<T>::max() && row.sums[i] >= lowest;
  }
  for (std::size_t i = 0; !good && !row.bad && i < row.sums.size(); ++i) {
    const bool is_finite = std::isfinite(cells[i]);
    if (!is_finite || row.sums[i] < lowest)
      row.bad = {row.first + Int3{static_cast<Index>(i), 0, 0},
                 std::isfinite(row.sums[i]) ? entries - 1 : row.not_finite_by[i], row.sums[i], is_finite};
  }
}

}  // namespace

// One prepared entry.
class RegionValues::Region {
 public:
  Region(const Config& config, const RegionValue& entry, std::size_t number, bool is_source)
      : entry_(&entry),
        number_(number),
        is_source_(is_source),
        axes_(config),
        value_(source_strength(config, entry)) {
    if (entry.shape == Shape::exact) exact_ = make_exact(config);  // the deck has one
    if (is_source && (is_solid(entry.shape) || entry.shape == Shape::gaussian)) {
      coverage_ = std::make_shared<const Coverage>(config, entry);
      value_ *= coverage_->scale();
    } else if (is_solid(entry.shape)) {
      centres_ = std::make_shared<const CentreCover>(config, entry);
    }
  }
  // The cells of `subdomain`; nothing for entries of other shapes.
  std::vector<double> read_dataset(const Config& config, Box subdomain) const {
    if (entry_->shape != Shape::dataset) return {};
    try {
      const DatasetReader reader(entry_->file, entry_->dataset);
      reader.check_shape(config.grid.cells);
      std::vector<double> values(static_cast<std::size_t>(subdomain.cells()));
      reader.read(subdomain, values.data());
      check_sizes_of_cells(entry_->file, config);
      return values;
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("{}: {}", config.at(key(config)), e.what()));
    }
  }

  // `dataset`: the result of read_dataset().
  void apply_to(Row& row, const std::vector<double>& dataset) const {
    const Index first = row.first.x, end = first + std::ssize(row.sums);
    if (entry_->shape == Shape::constant) {
      mix_all(row, [&](std::size_t) { return value_; });
    } else if (coverage_) {
      const CellRange range = coverage_->row(first, row.first.y, row.first.z, row.shares);
      for (Index x = range.first; x < range.last; ++x) mix(row.sums[x - first], row.shares[x - first]);
    } else if (centres_) {
      const CellRange range = centres_->row(row.first.y, row.first.z);
      for (Index x = std::max(range.first, first); x < std::min(range.last, end); ++x)
        mix(row.sums[x - first], 1);
    } else if (entry_->shape == Shape::formula) {
      const std::vector<double> values = formula_values(row);
      mix_all(row, [&](std::size_t i) { return values[i]; });
    } else if (entry_->shape == Shape::dataset) {
      mix_all(row, [&](std::size_t i) { return dataset[row.place + i]; });
    } else {
      mix_all(row, [&](std::size_t i) { return value_at(row.first + Int3{static_cast<Index>(i), 0, 0}); });
    }
  }

  bool repeats(Index z) const {
    if (coverage_) return coverage_->repeats(z);
    if (centres_) return centres_->repeats(z);
    return entry_->shape == Shape::constant ||
           (entry_->shape == Shape::formula && !entry_->formula.uses('z'));
  }

  std::string key(const Config& config) const {  // the key that gives the value
    const Shape shape = entry_->shape;
    if (shape == Shape::exact && config.verify.formula) return "verify.formula";
    return fmt::format("{}.{}.{}", is_source_ ? "sources" : "initial", number_,
                       shape == Shape::formula   ? "formula"
                       : shape == Shape::dataset ? "dataset"
                       : shape == Shape::exact   ? "shape"
                       : entry_->power           ? "power"
                                                 : "value");
  }
  std::string what() const {
    if (entry_->shape == Shape::formula) return entry_->formula.text();
    if (entry_->shape == Shape::dataset) return fmt::format("{} of {}", entry_->dataset, entry_->file);
    return "the value";
  }

 private:
  // A gaussian always adds: with its infinite tails it would replace the values of all cells.
  bool adds() const { return entry_->mode == RegionMode::add || entry_->shape == Shape::gaussian; }
  void mix(double& sum, double share) const {
    sum = adds()       ? sum + share * value_
          : share == 1 ? value_  // whatever the sum was, NaN too
                       : (1 - share) * sum + share * value_;
  }
  template <class ValueOf>
  void mix_all(Row& row, const ValueOf& value_of) const {
    const bool adds = this->adds();
    for (std::size_t i = 0; i < row.sums.size(); ++i) {
      const double value = value_of(i);
      if (!std::isfinite(value)) row.not_finite_by[i] = number_;
      row.sums[i] = adds ? row.sums[i] + value : value;
    }
  }

  std::vector<double> formula_values(const Row& row) const {
    std::vector<double> x, values(row.sums.size());
    for (Index i = 0; i < std::ssize(values); ++i) x.push_back(axes_[0].centre(row.first.x + i));
    const Vector3 at = axes_.centre(row.first);
    const double t = 0;
    entry_->formula.evaluate({{{x.data(), true}, {&at[1]}, {&at[2]}, {&t}}, std::ssize(values)},
                             values.data());
    return values;
  }
  double value_at(Int3 cell) const {
    const Vector3 at = axes_.centre(cell), from = entry_->centre;
    switch (entry_->shape) {
      case Shape::exact:
        return is_source_ ? exact_->source(at[0], at[1], at[2]) : (*exact_)(at[0], at[1], at[2], 0);
      case Shape::constant:  // this and the next six: see apply_to()
      case Shape::box:
      case Shape::sphere:
      case Shape::cylinder:
      case Shape::formula:
      case Shape::dataset:
      case Shape::double_ellipsoid:
      case Shape::gaussian:
        break;
    }
    const double distance = square(at[0] - from[0]) + square(at[1] - from[1]) + square(at[2] - from[2]);
    return value_ * std::exp(-distance / (2 * square(entry_->width)));
  }

  const RegionValue* entry_;
  std::size_t number_;
  bool is_source_;
  GridAxes axes_;
  double value_;  // K or W/m^3, as Coverage scales it
  std::optional<ExactField> exact_;
  std::shared_ptr<const Coverage> coverage_;    // sources
  std::shared_ptr<const CentreCover> centres_;  // initial
};

RegionValues::RegionValues(const Config& config, std::vector<RegionValue> entries, std::string key)
    : config_(config),
      entries_(std::move(entries)),
      key_(std::move(key)),
      is_source_(key_ == "sources"),
      has_void_(has_void(material_classes(config))) {
  std::vector<Region> regions;
  for (std::size_t n = 0; n < entries_.size(); ++n) regions.emplace_back(config_, entries_[n], n, is_source_);
  regions_ = std::make_shared<const std::vector<Region>>(std::move(regions));
}

Index RegionValues::repeated_until(Index z, Index end) const {
  const auto repeats = [&](const Region& region) { return region.repeats(z); };
  if (has_void_) return z;
  const GridAxis along(config_, 2);
  while (z < end && along.size(z) == along.size(z - 1) && std::ranges::all_of(*regions_, repeats)) ++z;
  return z;
}

void RegionValues::check_datasets() const {
  for (const Region& region : *regions_) region.read_dataset(config_, {});
}

template <class T>
HeatTotals RegionValues::apply(double scale, Box subdomain, FieldView<T> field) const {
  const double lowest = is_source_ ? -std::numeric_limits<double>::infinity() : lowest_temperature(config_);
  const Int3 extent = subdomain.extent();
  std::vector<std::vector<double>> datasets;  // by entry
  for (const Region& region : *regions_) datasets.push_back(region.read_dataset(config_, subdomain));
  const std::vector<std::uint8_t> voids =
      has_void_ ? void_cells(config_, subdomain) : std::vector<std::uint8_t>{};
  const CellWeights volumes(config_, subdomain);
  std::vector<Row> rows(omp_get_max_threads());
  for (Row& row : rows) {
    row.sums.resize(extent.x);
    row.shares = row.sums;
    row.not_finite_by.resize(extent.x);
  }
  std::vector<HeatTotals> totals(is_source_ ? extent.y * extent.z : 0);
#pragma omp parallel for collapse(2) schedule(static) num_threads(static_cast <int>(rows.size()))
  for (Index z = 0; z < extent.z; ++z) {
    for (Index y = 0; y < extent.y; ++y) {
      Row& row = rows[omp_get_thread_num()];
      row.first = subdomain.lo + Int3{0, y, z};
      row.place = extent.x * (y + extent.y * z);
      std::fill(row.sums.begin(), row.sums.end(), 0.0);
      if (has_void_) row.is_void = std::span(voids).subspan(row.place, extent.x);
      for (std::size_t i = 0; i < regions_->size(); ++i) (*regions_)[i].apply_to(row, datasets[i]);
      if (is_source_) weigh(row.sums, volumes, y, z);
      store(row, scale, lowest, entries_.size(), &field(0, y, z));
      if (!is_source_) continue;
      HeatTotals of_row;
      for (const double value : row.sums)
        of_row = of_row + HeatTotals{value, std::abs(value), Index{value != 0}};
      totals[y + extent.y * z] = of_row;
    }
  }
  std::optional<BadCell> bad;
  for (const Row& row : rows)
    if (row.bad && (!bad || row.bad->before(*bad))) bad = row.bad;
  if (!bad) return std::accumulate(totals.begin(), totals.end(), HeatTotals{});
  const Vector3 place = GridAxes(config_).centre(bad->cell);
  if (bad->is_too_cold) throw too_cold(config_.at(key_), bad->value, bad->cell, place, 0);
  const Region& region = (*regions_)[bad->entry];
  throw not_finite(config_.at(region.key(config_)), region.what(), bad->value, bad->cell, place, 0);
}

template HeatTotals RegionValues::apply(double, Box, FieldView<float>) const;
template HeatTotals RegionValues::apply(double, Box, FieldView<double>) const;

namespace {

// The shares of its heat that a moving source gives the body: in the mean over the run, and the largest.
std::pair<double, double> share_in_run(const Config& config, const RegionValue& source, bool has_voids) {
  const std::int64_t samples = has_voids ? 16 : 64;  // a share in the body takes a pass over cells
  double in_body = 0, all = 0, largest = 0;
  for (const double t : step_starts(config, samples)) {
    const PlacedSource placed = placed_source(config, source, t);
    double share = placed.inside;
    if (has_voids && share > 0) {
      RegionValue still = source;
      for (std::size_t a = 0; a < 3; ++a) {
        still.from_at[a] = still.from[a] = source.from_at[a](0, 0, 0, t);
        still.to_at[a] = still.to[a] = source.to_at[a](0, 0, 0, t);
        still.centre_at[a] = still.centre[a] = source.centre_at[a](0, 0, 0, t);
      }
      share *= share_in_body(config, still);
    }
    in_body += share * std::abs(placed.power);
    all += std::abs(placed.power);
    if (placed.power != 0) largest = std::max(largest, share);
  }
  return all > 0 ? std::pair(in_body / all, largest) : std::pair(1.0, 1.0);
}

// Warns where a source was written to replace an earlier one that always adds.
void warn_if_not_replaced(const Config& config, std::size_t number, Problems& problems) {
  const RegionValue& source = config.sources[number];
  if (source.varies() || source.mode == RegionMode::add) return;
  for (std::size_t i = 0; i < number; ++i)
    if (config.sources[i].varies() && can_overlap(config, config.sources[i], source))
      return problems.warn(
          fmt::format("sources.{}", number),
          "does not replace sources.{}, which adds to all others; list the source before it, or give it "
          "mode: add",
          i);
}

}  // namespace

std::vector<std::string> shape_warnings(const Config& config) {
  Problems problems(config);
  const bool has_voids = has_void(material_classes(config));
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& source = config.sources[i];
    // Half a per mille of a gaussian is 3.5 standard deviations away from its centre.
    const bool has_tails = source.shape == Shape::gaussian || source.shape == Shape::double_ellipsoid;
    const double enough = has_tails ? 0.9995 : 1 - 1e-6;  // below it six digits show less than 100 %
    const char* const body = has_voids ? "body" : "domain";
    const std::string key = fmt::format("sources.{}", i);
    warn_if_not_replaced(config, i, problems);
    if (source.moves()) {  // it may enter and leave the domain, but not be out of it most of the time
      const auto [mean, largest] = share_in_run(config, source, has_voids);
      if (mean < 0.5)
        problems.warn(key, "in the mean over the run only {:.3g} % of its heat is inside the {}", 100 * mean,
                      body);
      else if (largest < enough)
        problems.warn(key, "at no time of the run is more than {:.6g} % of its heat inside the {}",
                      100 * largest, body);
      continue;
    }
    const double inside =
        source.varies() ? placed_source(config, source, 0).inside : Coverage(config, source).inside();
    if (inside <= 1e-9)
      throw deck_error(config, key, "lies outside the domain ({}, {}, {}); move it inside, or remove it",
                       box_text(config, 0), box_text(config, 1), box_text(config, 2));
    const bool is_density =
        !source.power && (source.shape == Shape::constant || source.shape == Shape::formula);
    const double in_body = inside * (is_density ? 1 : share_in_body(config, source));
    if (in_body <= 1e-9)
      throw deck_error(config, key,
                       "lies in a void, which takes no heat; move it into the body, or remove it");
    if (in_body < enough)
      problems.warn(key, "only {:.6g} % of its heat is inside the {}", 100 * in_body, body);
  }
  for (std::size_t i = 0; i < config.initial.size(); ++i) {
    const RegionValue& shape = config.initial[i];
    if (is_solid(shape.shape) && !CentreCover(config, shape).covers_any())
      problems.warn(fmt::format("initial.{}", i),
                    "holds no cell centre, so it changes nothing; use a finer grid or a larger shape");
  }
  warn_of_materials(config, problems);
  return problems.warnings();
}

std::string replaced_heat_text(const Config& config, const HeatTotals& found) {
  constexpr double serious = 1e-3;
  const std::vector<RegionValue> sources = all_sources(config);
  if (!std::ranges::all_of(sources, [](const RegionValue& source) { return source.power.has_value(); }))
    return {};  // values are densities, which a deck may well replace in part
  const HeatTotals varying = product_totals(config);
  double given = varying.net, gross = varying.gross;
  for (const RegionValue& source : constant_sources(config)) {
    const double in_body = Coverage(config, source).inside() * share_in_body(config, source);
    given += in_body * (*source.power)(0, 0, 0);
    gross += in_body * std::abs((*source.power)(0, 0, 0));
  }
  if (!(std::abs(given - found.net) > serious * gross)) return {};
  return fmt::format(
      "sources: their power in the body is {}, not {}, as a source replaces earlier ones in cells that both "
      "cover; mode: add adds them",
      watts_text(found.net), watts_text(given));
}

// Plane by plane: a whole field of fp64 values could need more memory than the run itself.
HeatTotals sum_regions(const RegionValues& values, Box subdomain) {
  HeatTotals totals;
  Box plane = subdomain;
  plane.hi.z = plane.lo.z + 1;
  std::vector<double> cells(plane.cells());
  for (; plane.lo.z < subdomain.hi.z; plane = plane.shifted({0, 0, 1}))
    totals = totals + values.apply(1.0, plane, dense_view(cells.data(), plane.extent()));
  return totals;
}

double share_in_body(const Config& config, const RegionValue& source) {
  if (!has_void(material_classes(config))) return 1;
  const GridAxes axes(config);
  if (source.shape == Shape::double_ellipsoid) {
    const PlacedSource placed = placed_source(config, source, 0);
    const std::vector<std::uint8_t> voids = void_cells(config, placed.cells);
    double sum = 0;
    auto is_void = voids.begin();
    for_each_cell(placed.cells, [&](Int3 cell) {
      double share = *is_void++ == 0 ? 1 : 0;
      for (int axis = 0; axis < 3; ++axis) share *= share_of_cell(placed, axes, axis, cell[axis]);
      sum += share;
    });
    return sum / placed.inside;
  }
  RegionValue one = source, reach = source;
  one.power.reset();
  one.value = 1;
  if (reach.shape == Shape::gaussian) {
    reach.shape = Shape::sphere;
    reach.radius = 6 * reach.width;
  }
  const Box domain{{0, 0, 0}, config.grid.cells};
  Box cells = domain;
  if (is_solid(reach.shape)) {
    const Box centres = centres_within(axes, reach);
    cells = Box{centres.lo - Int3{1, 1, 1}, centres.hi + Int3{1, 1, 1}}.within(domain);
  }
  Config full = config;
  full.regions.clear();
  full.material.default_material = material_of_number(config, used_materials(config)[0]).name;
  const auto heat = [&](const Config& body) { return sum_regions({body, {one}, "sources"}, cells).gross; };
  return heat(config) / heat(full);
}

HeatTotals sum_sources(const Config& config, Box subdomain) {
  const std::vector<RegionValue> sources = constant_sources(config);
  return sources.empty() ? HeatTotals{} : sum_regions({config, sources, "sources"}, subdomain);
}

HeatTotals source_totals(const Config& config) {
  const Box domain{{0, 0, 0}, config.grid.cells};
  return in_watts(config, sum_sources(config, domain)) + product_totals(config) +
         formula_totals(config, domain);
}

const char* source_cells_note(const Config& config) {
  if (varying_sources(config).empty()) return "";
  return all_sources(config).size() > 1 ? " (each source that varies counts its own), at the start"
                                        : ", at the start";
}

std::vector<RegionValue> all_sources(const Config& config) {
  std::vector<RegionValue> sources = config.sources;
  if (config.verify.solution == ExactSolution::manufactured) {
    RegionValue needed;
    needed.shape = Shape::exact;
    needed.mode = RegionMode::add;
    sources.push_back(needed);
  }
  return sources;
}
std::vector<RegionValue> constant_sources(const Config& config) {
  std::vector<RegionValue> sources = all_sources(config);
  std::erase_if(sources, [](const RegionValue& source) { return source.varies(); });
  return sources;
}

}  // namespace isotherm
