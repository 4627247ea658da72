// Walls that a row applies itself give the bits of walls that stand in the ghosts; and the row does not look
// at those ghosts, which nobody fills for it.
#include <array>

#include "kernels/stencil.hpp"
#include "stencil_cases.hpp"
#include "walled_block.hpp"

namespace isotherm::test {
namespace {

constexpr unsigned all_faces = WalledBlock<double>::all_faces, lower_faces = WalledBlock<double>::lower_faces;

class StencilWalls : public testing::TestWithParam<RowCase> {};

// A row that applies none finds them all in the ghosts, whatever they are: one policy shows that it looks
// nowhere else.
template <class T>
bool applies_walls(const StencilKernel<T>& row) {
  return row.own_walls != std::array<bool, 3>{};
}

// Walls on the faces of `mask`; across the others the regions reach into the ghosts.
template <class T>
void check(const StencilKernel<T>& row, int policy, Device& device, Int3 shape, int ghosts = 2,
           unsigned mask = all_faces, unsigned fields = lower_faces) {
  SCOPED_TRACE("walls " + std::to_string(mask) + ", ghosts " + std::to_string(ghosts));
  const auto host = make_host_of(device);
  const WalledBlock<T> there(device, shape, ghosts, mask, fields), here(*host, shape, ghosts, mask, fields);
  const Field<T> in = random_field<T>(*host, shape, ghosts, 19);
  Field<T> ruled = to_device(*host, in);
  here.fill_ghosts(ruled.view(), row.own_walls);
  const Field<T> in_there = to_device(device, in);
  const Coefficients<T> c = {T(0.37), T(0.11), T(0.13), T(0.075)};
  const Box whole = there.region(ghosts - 1), one = there.region(1);
  const Box half{{shape.x / 2, whole.lo.y, shape.z / 3}, whole.hi};
  std::vector<Box> regions = {whole, half};
  if (!(one == whole)) regions.push_back(one);
  for (const Box& region : regions) {
    SCOPED_TRACE("region " + text(region));
    Field<T> expected = filled(*host, shape, ghosts, T(-7));
    row_named(stencil_kernels<T>(), "reference")
        .launch({std::as_const(ruled).view(), expected.view(), region, c, {}, {}, {}}, {}, {});
    Field<T> out = to_device(device, filled(*host, shape, ghosts, T(-7)));
    row.launch({in_there.view(), out.view(), region, c, there.walls, {}, {}}, {1, policy}, {});
    const Field<T> found = to_host(device, *host, out);
    expect_same<T>(std::as_const(expected).view(), found.view());
  }
}

TEST_P(StencilWalls, AreAppliedOrFoundInTheGhosts) {
  std::vector<Int3> all = shapes;
  all.push_back({139, 70, 67});  // several tiles and chunks of every row, none of them full
  for (const Index x : {46, 60, 61, 62, 94}) all.push_back({x, 33, 5});  // rows that nearly fill their pitch
  on_every_policy(GetParam(), all, [](const auto& row, int policy, Device& device, Int3 shape) {
    check(row, policy, device, shape);
  });
}

// Shapes whose last warps, packs and rows end at the walls, in rows and columns of several, and one that two
// walls across y share; a chunk has planes enough for a b of the plane before to be another.
TEST_P(StencilWalls, VaryOverEveryFace) {
  on_every_policy(GetParam(), {{128, 80, 61}, {256, 40, 59}, {128, 8, 60}, {128, 4, 60}},
                  [](const auto& row, int policy, Device& device, Int3 shape) {
                    if (policy > 0 && !applies_walls(row)) return;
                    check(row, policy, device, shape, 2, all_faces, all_faces);
                  });
}

TEST_P(StencilWalls, StandBesideRegionsThatReachIntoGhosts) {
  on_every_policy(GetParam(), {{1, 1, 1}, {3, 40, 2}, {61, 33, 5}, {134, 37, 9}},
                  [](const auto& row, int policy, Device& device, Int3 shape) {
                    if (policy > 0 && !applies_walls(row)) return;
                    // Across one axis, on the lower or the upper faces of all, and nowhere.
                    for (const unsigned mask : {0b000011u, 0b001100u, 0b110000u, 0b010101u, 0b101010u, 0u}) {
                      check(row, policy, device, shape, 5, mask);
                    }
                    check(row, policy, device, shape, 2, 0b010101u);
                  });
}

INSTANTIATE_TEST_SUITE_P(Host, StencilWalls, testing::ValuesIn(stencil_cases(Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, StencilWalls, testing::ValuesIn(stencil_cases(Backend::cuda)), label_of);

}  // namespace
}  // namespace isotherm::test
