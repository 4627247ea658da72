#include "app/end_state.hpp"

#include "app/session.hpp"
#include "physics/cells.hpp"

namespace isotherm {
namespace {

std::string why_no_heat(const Config& config, bool swept) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const char* const needed =
      transient ? "material.conductivity, density and heat_capacity" : "material.conductivity";
  if (!plan_diagnostics(config).flows) return std::string("the deck does not give ") + needed;
  if (!swept) return "no step was made";
  return "the run was stopped behind a launch of several steps";
}

}  // namespace

template <class T>
std::optional<EndState> find_end_state(const Config& config, Solver<T>& solver) {
  if (!moves_data(config)) return std::nullopt;
  const TemperatureExtremes found = solver.extremes();
  const CellCentres centre(config);
  const auto place = [&](const NumberedTemperature& extreme) -> EndState::Extreme {
    const Int3 cell = extreme.cell(config.grid.cells);
    return {extreme.value + 0.0, cell, centre(cell)};  // no "-0 K"
  };
  EndState end;
  end.steady = config.problem.kind == ProblemKind::steady;
  end.sweep = solver.sweeps();
  end.time = solver.time();
  end.nan_cells = found.nan_cells;
  if (found.any()) {
    end.highest = place(found.highest);
    end.lowest = place(found.lowest);
  }
  end.heat = solver.heat_flows();
  end.faces = plan_diagnostics(config).boundaries;
  if (!end.heat) end.why_no_heat = why_no_heat(config, solver.own_sweeps() > 0);
  return end;
}

template std::optional<EndState> find_end_state(const Config&, Solver<float>&);
template std::optional<EndState> find_end_state(const Config&, Solver<double>&);

}  // namespace isotherm
