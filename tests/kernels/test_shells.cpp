// The shells of an overlapped step together with its interior: the bits and the norm of a sweep of the whole.
#include "stencil_cases.hpp"
#include "walled_block.hpp"

namespace isotherm::test {
namespace {

// `thick`: layers of the shells on all six faces.
std::vector<Box> shells_of(Int3 n, Int3 thick, Box& interior) {
  std::vector<Box> shells;
  interior = {{0, 0, 0}, n};
  for (int axis = 2; axis >= 0; --axis) {
    Box low = interior, high = interior;
    low.hi[axis] = interior.lo[axis] = std::min(thick[axis], n[axis]);
    high.lo[axis] = interior.hi[axis] = std::max(n[axis] - thick[axis], interior.lo[axis]);
    for (const Box& shell : {low, high}) {
      if (!shell.empty()) shells.push_back(shell);
    }
  }
  return shells;
}

struct Cut {
  Int3 shape, thick;
};

template <class T>
void check(const StencilKernel<T>& row, Device& device, const Cut& cut, unsigned walls, ReductionOp op) {
  SCOPED_TRACE(text(cut.shape) + ", shells " + text(Box{{0, 0, 0}, cut.thick}) + ", walls " +
               std::to_string(walls));
  const auto host = make_host_device();
  const int ghosts = 1;
  const unsigned fields = WalledBlock<T>::all_faces;
  const WalledBlock<T> there(device, cut.shape, ghosts, walls, fields);
  const WalledBlock<T> here(*host, cut.shape, ghosts, walls, fields);
  const Coefficients<T> c = {T(0.37), T(0.11), T(0.13), T(0.075)};
  const Box whole{{0, 0, 0}, cut.shape};
  Field<T> in = random_field<T>(*host, cut.shape, ghosts, 37);
  here.fill_ghosts(in.view(), {true, true, true});
  const Field<T> source = random_field<T>(*host, cut.shape, ghosts, 38);
  Field<T> expected = filled(*host, cut.shape, ghosts, T(-7));
  double norm_expected = 0;
  row_named(stencil_kernels<T>(), "reference")
      .launch({std::as_const(in).view(), expected.view(), whole, c, {}, std::as_const(source).view(), {}}, {},
              {});
  row_named(reduction_kernels<T>(), "reference")
      .launch({std::as_const(expected).view(), std::as_const(in).view(), whole, op, &norm_expected, nullptr},
              {});

  Box interior;
  const std::vector<Box> shells = shells_of(cut.shape, cut.thick, interior);
  const Field<T> in_there = to_device(device, in), source_there = to_device(device, source);
  Field<T> out = to_device(device, filled(*host, cut.shape, ghosts, T(-7)));
  double norm_found = std::nan("");
  const Buffer result(device, sizeof(double));
  device.copy(result.data(), &norm_found, sizeof(double), {});
  Buffer scratch;
  UpdateNorm norm;
  if (row.fuses_norm()) {
    scratch = Buffer(device,
                     std::max(row.norm_scratch_bytes(interior, 0), shells_scratch_bytes(row, shells, 0)) + 8);
    norm = {op, result.as<double>(), scratch.data(), false};
  }
  SweepArgs<T> args{in_there.view(), out.view(), interior, c, there.walls, source_there.view(), norm};
  row.launch(args, {}, {});
  args.norm.accumulate = true;
  sweep_shells(row, args, shells, {}, {});
  device.copy(&norm_found, result.data(), sizeof(double), {});
  device.synchronize(Stream{});
  const Field<T> found = to_host(device, *host, out);
  expect_same<T>(std::as_const(expected).view(), found.view());
  if (row.fuses_norm()) {
    EXPECT_NEAR(norm_found, norm_expected, op == ReductionOp::max_abs ? 0.0 : 1e-12 * norm_expected);
  }
}

class Shells : public testing::TestWithParam<RowCase> {};

TEST_P(Shells, AndTheInteriorAreTheWholeBlock) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) {
    for (const Int3 shape : {Int3{1, 1, 1}, Int3{5, 4, 3}, Int3{33, 8, 9}, Int3{139, 41, 12}}) {
      for (const Int3 thick : {Int3{1, 1, 1}, Int3{16, 1, 1}, Int3{3, 2, 4}, Int3{0, 1, 0}}) {
        for (const unsigned walls : {0u, 0b111111u, 0b011001u})
          check(row, device, {shape, thick}, walls, ReductionOp::max_abs);
        check(row, device, {shape, thick}, 0b100110u, ReductionOp::sum_squares);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Host, Shells, testing::ValuesIn(stencil_cases(Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, Shells, testing::ValuesIn(stencil_cases(Backend::cuda)), label_of);

}  // namespace
}  // namespace isotherm::test
