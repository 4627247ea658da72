// Rows that fuse sweeps give at every depth the bits of as many sweeps of the reference, edges and corners
// included, and the norm of the last; they read nothing beyond walls, and write nothing outside their region.
#include <omp.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/host/stencil_temporal_openmp.hpp"
#include "kernels/reduction.hpp"
#include "stencil_cases.hpp"
#include "walled_block.hpp"

namespace isotherm::test {
namespace {

template <class T>
Coefficients<T> coefficients() {
  return {T(0.37), T(0.11), T(0.13), T(0.075)};
}

constexpr unsigned all_faces = WalledBlock<double>::all_faces, no_faces = 0;

// A block with walls on the faces of `mask`, a field, and what `depth` sweeps of the reference make of it.
template <class T>
class FusedCase {
 public:
  // `fields`: walls whose b is a field.
  FusedCase(const StencilKernel<T>&, Device& device, Int3 shape, int depth, unsigned mask, bool has_source,
            unsigned fields = all_faces)
      : device_(device),
        host_(make_host_of(device)),
        shape_(shape),
        depth_(depth),
        ghosts_(depth + 1),
        there_(device, shape, ghosts_, mask, fields),
        here_(*host_, shape, ghosts_, mask, fields),
        in_(random_field<T>(*host_, shape, ghosts_, 51)),
        source_(random_field<T>(*host_, shape, ghosts_, 52)),
        has_source_(has_source),
        in_there_(to_device(device, in_)),
        source_there_(to_device(device, source_)),
        swept_(filled(*host_, shape, ghosts_, T(0))),
        before_(to_device(*host_, in_)) {
    const FieldView<const T> none;
    for (int level = 1; level <= depth; ++level) {
      if (level > 1) std::swap(before_, swept_);
      here_.fill_ghosts(before_.view(), {true, true, true});
      row_named(stencil_kernels<T>(), "reference")
          .launch({std::as_const(before_).view(),
                   swept_.view(),
                   here_.region(1 + depth - level),
                   coefficients<T>(),
                   {},
                   has_source ? std::as_const(source_).view() : none,
                   {}},
                  {}, {});
    }
  }

  // The block, with a layer of ghosts where no wall stands, and an odd part of it.
  std::vector<Box> regions() const {
    const Box wide = here_.region(1);
    std::vector<Box> all = {here_.region(0), {{shape_.x / 2, wide.lo.y, shape_.z / 3}, wide.hi}};
    if (!(wide == all.front())) all.push_back(wide);
    return all;
  }

  // With its norm, where there is an operation. `interior`: what is swept first, where a step has two parts.
  void expect_of(const StencilKernel<T>& row, int policy, const Box& region, std::optional<ReductionOp> op,
                 const Box& interior = {}) const {
    const SweepPlan plan{depth_, policy};
    SCOPED_TRACE("region " + text(region) + ", depth " + std::to_string(depth_));
    Field<T> expected = filled(*host_, shape_, ghosts_, T(-7));
    for (Index z = region.lo.z; z < region.hi.z; ++z) {
      for (Index y = region.lo.y; y < region.hi.y; ++y)
        std::copy_n(&swept_.view()(region.lo.x, y, z), region.hi.x - region.lo.x,
                    &expected.view()(region.lo.x, y, z));
    }
    Field<T> out = to_device(device_, filled(*host_, shape_, ghosts_, T(-7)));
    const FieldView<const T> none;
    SweepArgs<T> args{in_there_.view(),
                      out.view(),
                      region,
                      coefficients<T>(),
                      there_.walls,
                      has_source_ ? source_there_.view() : none,
                      {}};
    const Buffer result(device_, sizeof(double));
    Buffer scratch;
    const bool norm = op && row.fuses_norm();
    if (norm) {
      scratch = Buffer(device_, std::max(row.norm_scratch_bytes(region, policy),
                                         parts_scratch_bytes(row, region, interior, plan)));
      args.norm = {*op, result.as<double>(), scratch.data(), false};
    }
    if (interior.empty()) {
      row.launch(args, plan, {});
    } else {
      args.region = interior;
      row.launch(args, plan, {});
      args.norm.accumulate = true;
      args.region = region;
      sweep_rest(row, args, interior, plan, {});
    }
    const Field<T> found = to_host(device_, *host_, out);
    expect_same<T>(std::as_const(expected).view(), found.view());
    if (norm) expect_norm(region, *op, result);
  }

 private:
  void expect_norm(const Box& region, ReductionOp op, const Buffer& result) const {
    double truth = 0, found = 0;
    row_named(reduction_kernels<T>(), "reference")
        .launch({swept_.view(), before_.view(), region, op, &truth, nullptr}, {});
    device_.copy(&found, result.data(), sizeof(double), {});
    device_.synchronize(Stream{});
    EXPECT_NEAR(found, truth, op == ReductionOp::max_abs ? 0.0 : 1e-12 * std::abs(truth));
  }

  Device& device_;
  std::unique_ptr<Device> host_;
  Int3 shape_;
  int depth_, ghosts_;
  WalledBlock<T> there_, here_;
  Field<T> in_, source_;
  bool has_source_;
  Field<T> in_there_, source_there_;
  Field<T> swept_, before_;  // after `depth` sweeps, and one less
};

// In every policy, all regions.
template <class T>
void check(const StencilKernel<T>& row, Device& device, Int3 shape, int depth, unsigned mask) {
  SCOPED_TRACE(text(shape) + ", walls " + std::to_string(mask));
  const FusedCase fused(row, device, shape, depth, mask, depth % 2 == 0);
  const std::optional<ReductionOp> norms[] = {ReductionOp::max_abs, ReductionOp::sum_squares, {}};
  for (const int policy : policies_of(row)) {
    SCOPED_TRACE(row.policies[static_cast<std::size_t>(policy)]);
    auto next = static_cast<std::size_t>(policy);
    for (const Box& region : fused.regions()) fused.expect_of(row, policy, region, norms[next++ % 3]);
  }
}

// A field whose tiles have walls beside them only, with and without a source and a norm: a kernel each.
template <class T>
void check_lots(const StencilKernel<T>& row, Device& device, int depth) {
  for (const bool has_source : {false, true}) {
    SCOPED_TRACE(has_source ? "source" : "no source");
    const FusedCase fused(row, device, {136, 70, 23}, depth, all_faces, has_source, no_faces);
    for (const std::optional<ReductionOp> norm : {std::optional<ReductionOp>{}, {ReductionOp::sum}})
      fused.expect_of(row, 0, fused.regions().front(), norm);
  }
}

class FusedSweeps : public testing::TestWithParam<RowCase> {};

TEST_P(FusedSweeps, AreAsManySweeps) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) {
    for (int depth = 1; depth <= row.max_depth; ++depth) {
      for (const Int3 shape : {Int3{1, 1, 1}, Int3{1, 9, 7}, Int3{9, 7, 1}, Int3{40, 1, 1}, Int3{17, 23, 31},
                               Int3{65, 2, 5}, Int3{127, 6, 3}})
        check(row, device, shape, depth, all_faces);
    }
  });
}

// Several tiles and chunks of every row, none of them full.
TEST_P(FusedSweeps, OfManyTiles) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) {
    check(row, device, {139, 70, 37}, row.max_depth, all_faces);
    for (int depth = 2; depth <= row.max_depth; ++depth) check_lots(row, device, depth);
    check(row, device, {134, 75, 9}, 2, 0b010101u);
  });
}

// Across one axis, on the lower or the upper faces of all, and nowhere.
TEST_P(FusedSweeps, BesideGhostsOfNeighbours) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) {
    for (const unsigned mask : {0b000011u, 0b001100u, 0b110000u, 0b010101u, 0b101010u, 0u}) {
      for (const int depth : {2, 3, row.max_depth}) {
        check(row, device, {3, 20, 2}, depth, mask);
        check(row, device, {61, 9, 5}, depth, mask);
      }
    }
  });
}

// What needs no ghosts of other ranks first, then the rest: each part sweeps its margins itself.
TEST_P(FusedSweeps, InTwoParts) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) {
    // Nobody fills ghosts between fused sweeps.
    EXPECT_EQ(row.own_walls, (std::array<bool, 3>{true, true, true}));
    for (const unsigned mask : {0b011001u, 0u}) {
      for (const int depth : {2, row.max_depth}) {
        const Int3 shape{70, 21, 20};
        const FusedCase fused(row, device, shape, depth, mask, true);
        const Box whole = fused.regions().front(), inner{{depth, 0, depth}, {70 - depth, 21 - depth, 20}};
        fused.expect_of(row, 0, whole, ReductionOp::sum_squares, inner);
      }
    }
  });
}

std::vector<RowCase> fusing(Backend backend) {
  std::vector<RowCase> all = stencil_cases(backend);
  std::erase_if(all,
                [](const RowCase& c) { return row_named(stencil_kernels<double>(), c.row).max_depth == 1; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Host, FusedSweeps, testing::ValuesIn(fusing(Backend::host)), label_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FusedSweeps);
INSTANTIATE_TEST_SUITE_P(Cuda, FusedSweeps, testing::ValuesIn(fusing(Backend::cuda)), label_of);

// The row `temporal_openmp` in both kinds of store, on some threads, with every instruction set and tiles of
// many sizes, the least and more than the field; rows that are cut.
TEST(TemporalOpenmp, HasTheSameBitsWhateverTheMachine) {
  const int threads_before = omp_get_max_threads();
  const auto host = make_host_device();
  for (const std::string_view set : instruction_sets()) {
    SCOPED_TRACE(set);
    for_instruction_set(set, [&](auto isa) {
      using Isa = decltype(isa);
      StencilKernel<float> row = row_named(stencil_kernels<float>(), "temporal_openmp");
      for (const int threads : {1, 3}) {
        omp_set_num_threads(threads);
        row.launch = [](const SweepArgs<float>& args, SweepPlan plan, Stream) {
          host::sweep_temporal_openmp<Isa>(args, plan, host::Store::streaming, 1);
        };
        check(row, *host, {67, 41, 19}, 3, all_faces);
        row.launch = [](const SweepArgs<float>& args, SweepPlan plan, Stream) {
          host::sweep_temporal_openmp<Isa>(args, plan, host::Store::streaming, 100 << 10);
        };
        check(row, *host, {67, 41, 19}, 3, all_faces);
        row.launch = [](const SweepArgs<float>& args, SweepPlan plan, Stream) {
          host::sweep_temporal_openmp<Isa>(args, plan, host::Store::cached, 64 << 20);
        };
        check(row, *host, {4400, 5, 4}, 4, 0b010110u);
      }
    });
  }
  omp_set_num_threads(threads_before);
}

// What a launch keeps is what the row says that it needs, more only after one that needed more, and nothing
// after it was released.
TEST(TemporalOpenmp, KeepsTheMemoryThatItSays) {
  const auto host = make_host_device();
  const StencilKernel<double>& row = row_named(stencil_kernels<double>(), "temporal_openmp");
  row.memory->release();
  for (const Int3 shape : {Int3{40, 30, 20}, Int3{70, 60, 30}}) {
    for (const int depth : {2, 4}) {
      const Field<double> in = random_field<double>(*host, shape, depth, 3);
      Field<double> out = filled(*host, shape, depth, 0.0);
      const Box whole{{0, 0, 0}, shape};
      row.launch({in.view(), out.view(), whole, coefficients<double>(), {}, {}, {}}, {depth, 0}, {});
      EXPECT_GT(row.memory->held(), 0u);
      EXPECT_EQ(row.memory->held(), row.memory->bytes(whole, {depth, 0}))
          << text(shape) << ", depth " << depth;
      row.memory->release();
      EXPECT_EQ(row.memory->held(), 0u);
    }
  }
}

}  // namespace
}  // namespace isotherm::test
