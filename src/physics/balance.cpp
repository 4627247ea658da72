#include "physics/balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "physics/cells.hpp"
#include "physics/paint.hpp"

namespace isotherm {
namespace {

void add(HeatBalance& balance, double watts) {
  balance.net += watts;
  balance.gross += std::abs(watts);
}

// Rows into planes into blocks: one running sum over 10^9 cells could lose what check_balance looks for.
void add(HeatBalance& balance, const HeatBalance& part) {
  balance.net += part.net;
  balance.gross += part.gross;
}

// Plane by plane: a whole field of fp64 values could be more than the run itself needs.
void add_sources(const Config& config, Box block, HeatBalance& balance) {
  const std::vector<Paint> sources = all_sources(config);
  if (sources.empty()) return;
  const Vector3 h = spacing(config);
  const double volume = h[0] * h[1] * h[2];
  Int3 extent = block.extent();
  extent.z = 1;
  std::vector<double> plane(static_cast<std::size_t>(extent.product()));
  const Painter painter(config, sources, "sources");
  const FieldView<double> view{plane.data(), extent.x, extent.x * extent.y, extent, 0};
  for (Index z = block.lo.z; z < block.hi.z; ++z) {
    const Box cells{{block.lo.x, block.lo.y, z}, {block.hi.x, block.hi.y, z + 1}};
    painter.paint(1.0, cells, view);
    HeatBalance sum;
    for (Index y = 0; y < extent.y; ++y) {
      HeatBalance row;
      for (Index x = 0; x < extent.x; ++x) add(row, view(x, y, 0) * volume);
      add(sum, row);
    }
    add(balance, sum);
  }
}

void add_flux(const Config& config, Face f, Box block, HeatBalance& balance) {
  const Expression& flux = config.boundaries[static_cast<std::size_t>(f)].value;
  const int axis = axis_of(f);
  const Vector3 h = spacing(config);
  const double area = h[0] * h[1] * h[2] / h[static_cast<std::size_t>(axis)];
  const CellCentres centre(config);
  Box cells = block;
  cells.lo[axis] = is_max(f) ? block.hi[axis] - 1 : block.lo[axis];
  cells.hi[axis] = cells.lo[axis] + 1;
  for (Index z = cells.lo.z; z < cells.hi.z; ++z) {
    HeatBalance plane;
    for (Index y = cells.lo.y; y < cells.hi.y; ++y) {
      HeatBalance row;
      for (Index x = cells.lo.x; x < cells.hi.x; ++x) {
        const Vector3 at = centre({x, y, z});  // a face's formula does not use the axis along its normal
        add(row, area * flux(at[0], at[1], at[2]));
      }
      add(plane, row);
    }
    add(balance, plane);
  }
}

}  // namespace

bool mean_is_free(const Config& config) {
  const auto fixes = [](const WallConfig& wall) {
    return wall.kind == WallKind::temperature || (wall.kind == WallKind::convection && wall.coefficient > 0);
  };
  return config.problem.kind == ProblemKind::steady &&
         std::none_of(config.boundaries.begin(), config.boundaries.end(), fixes);
}

HeatBalance heat_balance(const Config& config, Box block, const std::array<bool, face_count>& is_wall) {
  HeatBalance balance;
  add_sources(config, block, balance);
  for (int f = 0; f < face_count; ++f)
    if (is_wall[static_cast<std::size_t>(f)] &&
        config.boundaries[static_cast<std::size_t>(f)].kind == WallKind::flux)
      add_flux(config, static_cast<Face>(f), block, balance);
  return balance;
}

void check_balance(const Config& config, const HeatBalance& whole_body) {
  constexpr double allowed = 1e-9;  // far above the rounding of the sums, far below what a deck means
  if (!(std::abs(whole_body.net) <= allowed * whole_body.gross))
    throw Error(
        ExitCode::deck,
        fmt::format("{}: the steady problem has no solution (no wall fixes the temperature, and {:.6g} W "
                    "more heat {} the body through sources and fluxes than {}); balance them, or make "
                    "one wall temperature or convection",
                    config.at("boundaries"), std::abs(whole_body.net),
                    whole_body.net > 0 ? "enters" : "leaves", whole_body.net > 0 ? "leaves" : "enters"));
  if (!config.problem.mean_temperature)
    throw Error(ExitCode::deck,
                fmt::format("{}: missing (no wall fixes the temperature of the steady problem); "
                            "give the mean over the body in kelvin",
                            config.at("problem.mean_temperature")));
}

template <class T>
void shift(FieldView<T> field, double by) {
  for (Index z = 0; z < field.extent.z; ++z)
    for (Index y = 0; y < field.extent.y; ++y)
      for (Index x = 0; x < field.extent.x; ++x)
        field(x, y, z) = static_cast<T>(static_cast<double>(field(x, y, z)) + by);
}

template void shift(FieldView<float>, double);
template void shift(FieldView<double>, double);

}  // namespace isotherm
