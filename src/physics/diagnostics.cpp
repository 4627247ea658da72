#include "physics/diagnostics.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "config/problems.hpp"
#include "physics/cells.hpp"
#include "physics/operator.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {

namespace {

// Sums rows, planes, then the face: one sum over 10^8 cells could lose digits that check_balance() needs.
void add_flux(const Config& config, Face f, Box subdomain, HeatTotals& balance) {
  const Expression flux = face_law(config, f).heat;
  const GridAxes axes(config);
  const auto [p, q] = face_axes(f);
  const Box cells = layer_at(f, subdomain);
  const std::vector<std::uint8_t> voids = void_cells(config, cells);
  auto is_void = voids.begin();
  for (Index z = cells.lo.z; z < cells.hi.z; ++z) {
    HeatTotals plane;
    for (Index y = cells.lo.y; y < cells.hi.y; ++y) {
      HeatTotals row;
      for (Index x = cells.lo.x; x < cells.hi.x; ++x) {
        if (!voids.empty() && *is_void++ != 0) continue;
        const Int3 cell{x, y, z};
        const Vector3 at = axes.centre(cell);  // a face's formula does not use the axis along its normal
        const double area = axes[p].size(cell[p]) * axes[q].size(cell[q]);
        const double watts = area * flux(at[0], at[1], at[2]);
        row = row + HeatTotals{watts, std::abs(watts)};
      }
      plane = plane + row;
    }
    balance = balance + plane;
  }
}

// Searches for the cell of an extreme only in a row that exceeds all rows before it; such rows are few.
template <class T, class IsVoid>
void add_row(const T* row, Index length, Index number, const IsVoid& is_void, TemperatureExtremes& found) {
  const auto place = [&](double value) {
    return number + std::distance(row, std::find(row, row + length, static_cast<T>(value)));
  };
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool any_nan = false;
  for (Index x = 0; x < length; ++x) {
    const auto value = static_cast<double>(row[x]);
    any_nan |= value != value;
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  for (Index x = 0; any_nan && x < length; ++x) {
    if (row[x] == row[x] || is_void(x)) continue;
    ++found.nan_cells;
    found.first_nan = std::min(found.first_nan, number + x);
  }
  if (low > high) return;
  const bool first = !found.any();
  if (first || low < found.lowest.value) found.lowest = {low, place(low)};
  if (first || high > found.highest.value) found.highest = {high, place(high)};
}

// Extremes by kind of cell. add(y, z, number, found) adds a row to `found`; `number`: that of its first cell.
template <class Add>
std::vector<TemperatureExtremes> over_rows(std::size_t kinds, Int3 n, Int3 lo, Int3 cells, const Add& add) {
  std::vector<TemperatureExtremes> all(kinds);
#pragma omp parallel
  {
    std::vector<TemperatureExtremes> mine(kinds);
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = 0; z < n.z; ++z)
      for (Index y = 0; y < n.y; ++y) add(y, z, lo.x + cells.x * (lo.y + y + cells.y * (lo.z + z)), mine);
#pragma omp critical(isotherm_temperature_extremes)
    for (std::size_t i = 0; i < kinds; ++i) all[i].add(mine[i]);
  }
  return all;
}

NumberedTemperature over_ranks(const NumberedTemperature& mine, ReduceOp op,
                               const Communicator& communicator) {
  const double value = communicator.all_reduce(mine.value, op);
  const Index number = mine.value == value ? mine.number : NumberedTemperature::no_cell;
  return {value, communicator.all_reduce(number, ReduceOp::min)};
}

}  // namespace

HeatTotals heat_balance(const Config& config, Box subdomain,
                        const std::array<bool, face_count>& is_boundary) {
  HeatTotals balance = in_watts(config, sum_sources(config, subdomain));
  for (int f = 0; f < face_count; ++f)
    if (is_boundary[f] && is_of_flux(config, static_cast<Face>(f)))
      add_flux(config, static_cast<Face>(f), subdomain, balance);
  return balance;
}

void check_balance(const Config& config, const HeatTotals& whole_domain) {
  constexpr double allowed = 1e-9;  // far above the rounding of the sums, far below the heat of a deck
  const double net = whole_domain.net;
  if (!(std::abs(net) <= allowed * whole_domain.gross))
    throw deck_error(config, "boundaries",
                     "the steady problem has no solution (no boundary fixes the temperature, and {:.6g} W "
                     "more heat {} the body through sources and fluxes than {}); balance them, or make "
                     "one boundary temperature or convection",
                     std::abs(net), net > 0 ? "enters" : "leaves", net > 0 ? "leaves" : "enters");
}

void TemperatureExtremes::add(const TemperatureExtremes& other) {
  nan_cells += other.nan_cells;
  first_nan = std::min(first_nan, other.first_nan);
  lowest = std::min(lowest, other.lowest, [](const auto& a, const auto& b) {
    return std::tie(a.value, a.number) < std::tie(b.value, b.number);
  });
  highest = std::min(highest, other.highest, [](const auto& a, const auto& b) {
    return std::tie(b.value, a.number) < std::tie(a.value, b.number);
  });
}

NumberedTemperature TemperatureExtremes::most_extreme() const {
  NumberedTemperature most{0, 0};
  const auto take = [&](double value, Index number) {
    const double magnitude = std::abs(value), most_yet = std::abs(most.value);
    if (magnitude > most_yet || (magnitude == most_yet && number < most.number)) most = {value, number};
  };
  if (any()) take(lowest.value, lowest.number);
  if (any()) take(highest.value, highest.number);
  if (nan_cells > 0) take(std::numeric_limits<double>::infinity(), first_nan);
  return most;
}

template <class T>
TemperatureExtremes temperature_extremes(FieldView<const T> field, Int3 lo, Int3 cells,
                                         const std::function<bool(Index, Index, Index)>& is_void) {
  const Int3 n = field.extent;
  const auto add = [&](Index y, Index z, Index number, std::vector<TemperatureExtremes>& found) {
    const auto of_row = [&](Index x) { return is_void && is_void(x, y, z); };
    if (n.x > 0) add_row(&field(0, y, z), n.x, number, of_row, found[0]);
  };
  return over_rows(1, n, lo, cells, add)[0];
}

template <class T>
std::vector<TemperatureExtremes> material_extremes(const Config& config, FieldView<const T> field,
                                                   Box subdomain) {
  const Int3 n = field.extent, lo = subdomain.lo;
  RegionMaterials regions(config);
  regions.load(subdomain);
  const auto add = [&](Index y, Index z, Index number, std::vector<TemperatureExtremes>& found) {
    std::vector<std::uint8_t> row(static_cast<std::size_t>(n.x));
    regions.row(lo.x, lo.y + y, lo.z + z, row);
    for (auto from = row.begin(), to = from; from != row.end(); from = to) {
      to = std::find_if(from, row.end(), [&](std::uint8_t material) { return material != *from; });
      const Index x = from - row.begin();
      add_row(
          &field(x, y, z), to - from, number + x, [](Index) { return false; }, found[*from]);
    }
  };
  return over_rows(config.materials.size() + 1, n, lo, config.grid.cells, add);
}

template std::vector<TemperatureExtremes> material_extremes(const Config&, FieldView<const float>, Box);
template std::vector<TemperatureExtremes> material_extremes(const Config&, FieldView<const double>, Box);

TemperatureExtremes over_ranks(const TemperatureExtremes& mine, const Communicator& communicator) {
  return {over_ranks(mine.lowest, ReduceOp::min, communicator),
          over_ranks(mine.highest, ReduceOp::max, communicator),
          communicator.all_reduce(mine.nan_cells, ReduceOp::sum),
          communicator.all_reduce(mine.first_nan, ReduceOp::min)};
}

template TemperatureExtremes temperature_extremes(FieldView<const float>, Int3, Int3,
                                                  const std::function<bool(Index, Index, Index)>&);
template TemperatureExtremes temperature_extremes(FieldView<const double>, Int3, Int3,
                                                  const std::function<bool(Index, Index, Index)>&);

DiagnosticsPlan plan_diagnostics(const Config& config) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const Vector3 h = spacing(config);
  const double volume = cell_volume(config);
  DiagnosticsPlan plan;
  plan.bins = config.output.histogram.bins;
  if (has_heat_capacity(config)) plan.heat_capacity = volumetric_heat_capacity(config) * volume;
  plan.flows = has_conductivity(config) && (!transient || plan.heat_capacity);
  if (!plan.flows) return plan;
  plan.rate = transient;
  if (transient) plan.dt = euler_dt(config);
  plan.watts_a_source_kelvin = volume / source_scale(config);
  for (std::size_t f = 0; f < face_count; ++f) {
    plan.boundaries[f] = config.boundaries[f].kind != BoundaryKind::periodic;
    plan.conductance[f] = conductivity(config) * volume / (h[f / 2] * h[f / 2]);
  }
  const MaterialClasses all = material_classes(config);
  plan.watts_a_void_unit = own_conductance(config, all.classes[0]) * volume;
  if (config.materials.empty()) return plan;
  for (const std::size_t i : used_materials(config))
    if (material_of_number(config, i).coefficient.value_or(0) > 0)
      plan.voids.push_back({material_of_number(config, i).name, all.of_void(i)});
  return plan;
}

void close_balance(HeatFlows& flows) {
  double net = flows.source - flows.rate, gross = std::abs(flows.source) + std::abs(flows.rate);
  const auto add = [&](double flow) {
    net += flow;
    gross += std::abs(flow);
  };
  std::ranges::for_each(flows.boundaries, add);
  std::ranges::for_each(flows.voids, add);
  flows.balance = net;
  flows.relative_balance = gross > 0 ? std::abs(net) / gross : 0;
  if (std::isnan(net)) flows.relative_balance = net;
}

Bins choose_bins(const Config& config, double initial_min, double initial_max) {
  const HistogramConfig& histogram = config.output.histogram;
  if (histogram.range) return Bins::of((*histogram.range)[0], (*histogram.range)[1], histogram.bins);
  double low = initial_min, high = initial_max;
  visit_all_laws(config, [&](const auto&, const LawConfig& law) {
    if (!law.has_temperature() || !law.value.is_constant()) return;
    low = std::min(low, law.value(0, 0, 0));
    high = std::max(high, law.value(0, 0, 0));
  });
  const double largest = std::max(std::abs(low), std::abs(high));
  if (high - low <= std::max(1e-9 * largest, 1e-200)) {
    const double half = std::max(0.5, 1e-9 * largest);
    low -= half;
    high += half;
  }
  return Bins::of(low, high, histogram.bins);
}

}  // namespace isotherm
