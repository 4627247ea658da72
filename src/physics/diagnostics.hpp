// Diagnostics of a state and of the sweep that computed it: plain numbers.
//
// The balance. During an explicit step from u to v, the cell-centred finite volumes exchange k A/h
// (difference) W over each inner face and take k A/h (ghost - u) W over each boundary, `ghost` by
// boundary_ghost() of the old field. Exchange between neighbours cancels in the sum. Up to rounding:
//
//     rho c V sum(v - u) / dt  =  heat through the boundaries + heat of the sources,
//
// (LeVeque, Finite Volume Methods for Hyperbolic Problems, Cambridge 2002, section 4.1: conservation). A
// sweep rounds each temperature by up to one unit in the last place, so a step may gain or lose that share of
// the body's heat: negligible against the flows in fp64, while in fp32 three or four digits of the flows
// remain. A steady problem has no rate: its defect is boundaries + sources, which approaches zero as the
// sweeps converge.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"
#include "kernels/histogram.hpp"
#include "physics/region_values.hpp"

namespace isotherm {

// W of sources and flux boundaries of this subdomain (`is_boundary`: by Face): if the mean is free, they must
// sum to 0 over the domain. Throws Error(deck) as RegionValues::apply().
HeatTotals heat_balance(const Config& config, Box subdomain, const std::array<bool, face_count>& is_boundary);

// Throws Error(deck) if the net heat is more than 1e-9 of the gross heat.
void check_balance(const Config& config, const HeatTotals& whole_domain);

// A temperature and the number of its cell in the grid of the run, x fastest.
struct NumberedTemperature {
  static constexpr Index no_cell = std::numeric_limits<Index>::max();
  double value;
  Index number = no_cell;

  Int3 cell(Int3 cells) const {
    return {number % cells.x, number / cells.x % cells.y, number / cells.x / cells.y};
  }
};

// NaN cells are counted separately; those of voids are left out. Of equal values the cell with the least
// number counts, whatever the order of cells, threads or ranks.
struct TemperatureExtremes {
  NumberedTemperature lowest{std::numeric_limits<double>::infinity()};
  NumberedTemperature highest{-std::numeric_limits<double>::infinity()};
  std::int64_t nan_cells = 0;
  Index first_nan = std::numeric_limits<Index>::max();  // the least number of these cells

  bool any() const { return lowest.number != NumberedTemperature::no_cell; }
  // The value of the largest magnitude, infinite if a cell is not finite; of equal ones the least number.
  NumberedTemperature most_extreme() const;
  void add(const TemperatureExtremes& other);
};

// `field`: in host memory; `lo`: its first cell in the grid of `cells`. `is_void`: is this cell (indices of
// the field) of a void, which must hold NaN? None: there is no void.
template <class T>
TemperatureExtremes temperature_extremes(FieldView<const T> field, Int3 lo, Int3 cells,
                                         const std::function<bool(Index, Index, Index)>& is_void = {});
// Extremes by material number; entries of voids have no temperature. `field`: in host memory, the cells of
// `subdomain`, NaN in voids. Throws as RegionMaterials where a region is a dataset.
template <class T>
std::vector<TemperatureExtremes> material_extremes(const Config& config, FieldView<const T> field,
                                                   Box subdomain);
// Collective: over the subdomains of all ranks.
TemperatureExtremes over_ranks(const TemperatureExtremes& mine, const Communicator& communicator);

// Which numbers the deck determines, and the factors that convert sums over cells to watts and joules.
struct DiagnosticsPlan {
  std::array<bool, face_count> boundaries{};     // not periodic, and the conductivity is known
  bool flows = false;                            // they need the conductivity, and if transient rho c
  bool rate = false;                             // transient
  std::optional<double> heat_capacity;           // J/K of a cell: rho c V
  std::array<double, face_count> conductance{};  // W/K of a cell's boundary face: k A/h
  double watts_a_source_kelvin = 0;              // W per K that the source adds to a cell in one sweep
  double dt = 0;                                 // s, transient
  int bins = 0;
  double watts_a_void_unit = 0;  // of VoidFlow's result
  struct Void {
    std::string name;
    std::vector<int> classes;
  };
  std::vector<Void> voids{};  // with a law, where flows are known
};
DiagnosticsPlan plan_diagnostics(const Config& config);

// Heat during the last sweep, W; into the body is positive.
struct HeatFlows {
  std::array<double, face_count> boundaries{};  // 0 where there is none
  std::vector<double> voids{};                  // through the faces to each of DiagnosticsPlan::voids
  double source = 0;
  double rate = 0;              // of change of the body's heat, from its temperatures; 0 if steady
  double balance = 0;           // boundaries + voids + source - rate: the defect
  double relative_balance = 0;  // over the sum of all magnitudes, or 0; rounding alone if insulated
};
// Fills `balance` and `relative_balance` from the rest.
void close_balance(HeatFlows& flows);

struct Histogram {
  Bins bins;
  std::vector<std::int64_t> counts;  // by Bins::slot
};

// Over all cells of the body, of all ranks; no bit depends on the number and order of ranks.
struct Diagnostics {
  double min = 0, max = 0;  // K, of the cells that are not NaN; NaN where all are
  double mean = 0;          // K; NaN if a cell is not finite, like heat and flows
  std::int64_t nan_cells = 0;
  std::optional<double> heat;      // J, relative to 0 K
  std::optional<HeatFlows> flows;  // after the first sweep
  std::optional<Histogram> histogram;
};

// The deck's bins; by default their range covers the initial extremes and the boundary temperatures that are
// constant. It is never empty: around a state of one temperature it is 1 K.
Bins choose_bins(const Config& config, double initial_min, double initial_max);

}  // namespace isotherm
