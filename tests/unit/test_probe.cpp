// What a probe reads between cells, at walls and across periodic faces.
#include "physics/probe.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "output/records/history.hpp"
#include "physics/cells.hpp"

namespace isotherm {
namespace {

// Cells of 0.5 x 1 x 2 m from (-1, 2, 0).
Config config_of(Int3 cells) {
  Config config;
  config.grid.cells = cells;
  config.grid.spacing = Vector3{0.5, 1, 2};
  config.grid.origin = {-1, 2, 0};
  config.material.conductivity = 4;
  return config;
}

using Cells = std::function<double(Int3)>;
double read(const Config& config, const Vector3& at, const Cells& field, double t = 0) {
  const Probe probe(config, at);
  std::array<double, Probe::corners> cells{};
  for (int corner = 0; corner < Probe::corners; ++corner)
    cells[static_cast<std::size_t>(corner)] = field(probe.cell(corner));
  return probe.value(config, cells, t);
}

double by_index(Int3 cell) {
  return 300 + static_cast<double>(cell.x + 10 * cell.y + 100 * cell.z);
}

TEST(Probe, AtACentreItIsThatCells) {
  const Config config = config_of({4, 3, 2});
  const CellCentres centre(config);
  for (Index z = 0; z < 2; ++z)
    for (Index y = 0; y < 3; ++y)
      for (Index x = 0; x < 4; ++x)
        EXPECT_EQ(read(config, centre(Int3{x, y, z}), by_index), by_index({x, y, z}));
  // A neighbour that is not finite has no share in it.
  const auto broken = [](Int3 cell) { return cell == Int3{1, 1, 1} ? 7 : std::nan(""); };
  EXPECT_EQ(read(config, centre(Int3{1, 1, 1}), broken), 7);
}

TEST(Probe, BetweenCentresItIsLinearAlongEachAxis) {
  const Config config = config_of({4, 3, 2});
  const CellCentres centre(config);
  const auto linear = [&](Int3 cell) {
    const Vector3 at = centre(cell);
    return 300 + 2 * at[0] + 3 * at[1] + 5 * at[2] + at[0] * at[1] * at[2];
  };
  for (const Vector3& at : {Vector3{-0.5, 3, 2}, Vector3{0.3, 4.1, 1.7}, Vector3{0.749, 2.501, 2.999}})
    EXPECT_DOUBLE_EQ(read(config, at, linear),
                     300 + 2 * at[0] + 3 * at[1] + 5 * at[2] + at[0] * at[1] * at[2]);
  // Weights, to the bit: a quarter of the way along x, half along y.
  EXPECT_EQ(read(config, {-0.625, 3, 1}, by_index), 300 + 0.25 + 5);
}

TEST(Probe, AtAWallOfGivenTemperatureItReadsThat) {
  Config config = config_of({4, 3, 2});
  config.boundaries[0] = {WallKind::temperature, Expression("100 + 10*y + t", "yzt"), 0};
  EXPECT_EQ(read(config, {-1, 3.5, 1}, by_index, 7), 142);                    // the value at the cell's own y
  EXPECT_EQ(read(config, {-0.875, 3.5, 1}, by_index, 7), (142 + 310) / 2.0);  // half way to its centre
  EXPECT_EQ(read(config, {-0.75, 3.5, 1}, by_index, 7), 310);
}

TEST(Probe, TowardsAFluxItFollowsTheGradient) {
  Config config = config_of({4, 3, 2});
  config.boundaries[5] = {WallKind::flux, Expression(8.0),
                          0};  // 8 / 4 = 2 K/m inwards: warmer towards the wall
  EXPECT_EQ(read(config, {-0.75, 2.5, 4}, by_index), 400 + 2);
  EXPECT_EQ(read(config, {-0.75, 2.5, 0}, by_index), 300);  // insulated
}

TEST(Probe, AtAConvectionWallItIsTheSurface) {
  Config config = config_of({4, 3, 2});
  config.boundaries[3] = {WallKind::convection, Expression(200.0), 24};
  // k/(h/2) (T - Ts) = H (Ts - Ta), k = 4, h = 1, H = 24
  EXPECT_DOUBLE_EQ(read(config, {-0.75, 5, 1}, by_index), (8 * 320.0 + 24 * 200.0) / (8 + 24));
}

TEST(Probe, BeyondTwoWallsTheLaterAxisHasTheLastWord) {
  Config config = config_of({4, 3, 2});
  config.boundaries[0] = {WallKind::temperature, Expression(10.0), 0};
  config.boundaries[2] = {WallKind::temperature, Expression(20.0), 0};
  EXPECT_EQ(read(config, {-1, 2, 1}, by_index), 20);
  EXPECT_EQ(read(config, {-1, 2.5, 1}, by_index), 10);
  config.boundaries[2] = {WallKind::insulated, {}, 0};
  EXPECT_EQ(read(config, {-1, 2, 1}, by_index), 10);
}

TEST(Probe, AcrossAPeriodicFaceTheOtherSideIsNext) {
  Config config = config_of({4, 3, 2});
  config.boundaries[0].kind = config.boundaries[1].kind = WallKind::periodic;
  const double between = (300 + 303) / 2.0;
  EXPECT_EQ(read(config, {-1, 2.5, 1}, by_index), between);
  EXPECT_EQ(read(config, {1, 2.5, 1}, by_index), between);
  EXPECT_EQ(read(config, {0.875, 2.5, 1}, by_index), 303 - 3 * 0.25);
}

TEST(Probe, AGridOneCellThickHasWallsOnBothSides) {
  Config config = config_of({1, 1, 1});
  config.boundaries[0] = {WallKind::temperature, Expression(10.0), 0};
  config.boundaries[1] = {WallKind::temperature, Expression(20.0), 0};
  const auto uniform = [](Int3) { return 15.0; };
  EXPECT_EQ(read(config, {-1, 2, 0}, uniform), 10);
  EXPECT_EQ(read(config, {-0.75, 2.25, 1.5}, uniform), 15);
  EXPECT_EQ(read(config, {-0.5, 3, 2}, uniform), 20);
}

TEST(ProbeFile, SaysWhereItsColumnsAreMeasured) {
  ProbesConfig probes;
  probes.points = {{"p0", {0, 0.1, 1e-9}}, {"tip", {-1.5, 2, 3}}};
  EXPECT_EQ(probes_head(probes),
            "# p0: 0 0.1 1e-09 m\n"
            "# tip: -1.5 2 3 m\n"
            "sweep,time_s,p0_K,tip_K\n");
  EXPECT_EQ(probes_line(7, 0.1, {1.0 / 3, -std::nan("")}), "7,0.1,0.3333333333333333,nan\n");
}

}  // namespace
}  // namespace isotherm
