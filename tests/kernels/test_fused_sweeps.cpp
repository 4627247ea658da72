// Sweeps that do more at once: several sweeps in a launch, and the norm of the update.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "kernels/host/rows.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "stencil_cases.hpp"
#include "support/repeat.hpp"

namespace isotherm::test {
namespace {

constexpr unsigned all_faces = BoundedBlock<double>::all_faces, no_faces = 0;

// A block with boundaries on the faces of `mask`, a field, and what `depth` sweeps of the reference make of
// it.
template <class T>
class FusedCase {
 public:
  // `fields`: boundaries whose b is a field.
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
    for (int level = 1; level <= depth; ++level) {
      if (level > 1) std::swap(before_, swept_);
      here_.fill_ghosts(before_.view(), {true, true, true});
      sweep_plainly(before_, swept_, here_.region(1 + depth - level), has_source ? &source_ : nullptr);
    }
  }

  // The block, with a layer of ghosts where no boundary stands, and an odd part of it.
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
    Field<T> out = to_device(device_, filled(*host_, shape_, ghosts_, T(-7)));
    const FieldView<const T> none;
    SweepArgs<T> args{in_there_.view(),
                      out.view(),
                      region,
                      coefficients<T>(),
                      there_.boundaries,
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
    expect_same_there(device_, with_region(filled(*host_, shape_, ghosts_, T(-7)), swept_, region), out);
    if (norm) expect_norm(region, *op, result);
  }

 private:
  void expect_norm(const Box& region, ReductionOp op, const Buffer& result) const {
    const double truth = reduce_plainly(op, swept_, before_, region);
    EXPECT_NEAR(fetched<double>(device_, result.data()), truth,
                op == ReductionOp::max_abs ? 0.0 : 1e-12 * std::abs(truth));
  }

  Device& device_;
  std::unique_ptr<Device> host_;
  Int3 shape_;
  int depth_, ghosts_;
  BoundedBlock<T> there_, here_;
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

// A field whose tiles have boundaries beside them only, with and without a source and a norm: a kernel each.
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
    EXPECT_EQ(row.own_boundaries, (std::array<bool, 3>{true, true, true}));
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
  const auto host = make_host_device();
  for (const std::string_view set : instruction_sets()) {
    SCOPED_TRACE(set);
    for_instruction_set(set, [&](auto isa) {
      using Isa = decltype(isa);
      StencilKernel<float> row = row_named(stencil_kernels<float>(), "temporal_openmp");
      on_threads({1, 3}, [&] {
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
      });
    });
  }
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

// The norm that a sweep returns: that of the update it makes, to the bit for the maximum, to rounding for
// sums.

constexpr ReductionOp all_ops[] = {ReductionOp::sum, ReductionOp::max_abs, ReductionOp::sum_abs,
                                   ReductionOp::sum_squares};

// The sweeps of several regions into one norm; poisoned memory where no norm should be found.
template <class T>
double fused(const StencilKernel<T>& row, int policy, Device& host, Device& device, const Field<T>& in,
             Field<T>& out, const std::vector<Box>& regions, ReductionOp op) {
  const Field<T> in_there = to_device(device, in);
  Field<T> out_there = to_device(device, out);
  const Buffer result = buffer_of<double>(device, {std::nan("")});
  std::vector<Buffer> scratches;
  for (const Box& region : regions) {
    const Buffer& scratch = scratches.emplace_back(device, row.norm_scratch_bytes(region, policy) + 8);
    const UpdateNorm norm{op, result.as<double>(), scratch.data(), scratches.size() > 1};
    row.launch({in_there.view(), out_there.view(), region, coefficients<T>(), {}, {}, norm}, {1, policy}, {});
  }
  out = to_host(device, host, out_there);
  return fetched<double>(device, result.data());
}

template <class T>
void check_norm(const StencilKernel<T>& row, int policy, Device& device, Int3 shape) {
  const auto host = make_host_of(device);
  const Box whole{{0, 0, 0}, shape};
  const Index cut = shape.z / 2;
  const std::vector<std::vector<Box>> splits = {
      {whole}, {{{0, 0, 0}, {shape.x, shape.y, cut}}, {{0, 0, cut}, shape}}, {whole, {{0, 0, 0}, {0, 0, 0}}}};
  const Field<T> in = random_field<T>(*host, shape, 1, 23);
  Field<T> expected = filled(*host, shape, 1, T(5));
  sweep_plainly(in, expected, whole);
  for (const auto& regions : splits) {
    for (ReductionOp op : all_ops) {
      SCOPED_TRACE("operation " + std::to_string(static_cast<int>(op)));
      Field<T> out = filled(*host, shape, 1, T(5));
      const double found = fused(row, policy, *host, device, in, out, regions, op);
      expect_same<T>(std::as_const(expected).view(), std::as_const(out).view());
      const double truth = reduce_plainly(op, expected, in, whole);
      const double size =
          reduce_plainly(op == ReductionOp::sum ? ReductionOp::sum_abs : op, expected, in, whole);
      EXPECT_NEAR(found, truth, op == ReductionOp::max_abs ? 0.0 : 1e-12 * size);
    }
  }
}

class FusedNorm : public testing::TestWithParam<RowCase> {};

TEST_P(FusedNorm, IsThatOfTheUpdate) {
  on_every_policy(GetParam(), shapes, [](const auto& row, int policy, Device& device, Int3 shape) {
    check_norm(row, policy, device, shape);
  });
}

template <class T>
void check_nan(const StencilKernel<T>& row, Device& device) {
  const auto host = make_host_of(device);
  const Int3 shape{65, 9, 7};
  for (Int3 place : {Int3{0, 0, 0}, Int3{31, 4, 3}, Int3{64, 8, 6}}) {
    Field<T> in = random_field<T>(*host, shape, 1, 29), out = filled(*host, shape, 1, T(5));
    in.view()(place) = std::numeric_limits<T>::quiet_NaN();
    for (ReductionOp op : all_ops) {
      EXPECT_TRUE(std::isnan(fused(row, 0, *host, device, in, out, {Box{{0, 0, 0}, shape}}, op)));
    }
  }
}

TEST_P(FusedNorm, KeepsANaN) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) { check_nan(row, device); });
}

std::vector<RowCase> rows_with_norms(Backend backend) {
  std::vector<RowCase> all = stencil_cases(backend);
  std::erase_if(all,
                [](const RowCase& c) { return !row_named(stencil_kernels<double>(), c.row).fuses_norm(); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Host, FusedNorm, testing::ValuesIn(rows_with_norms(Backend::host)), label_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FusedNorm);
INSTANTIATE_TEST_SUITE_P(Cuda, FusedNorm, testing::ValuesIn(rows_with_norms(Backend::cuda)), label_of);

// The sums of CPU rows depend neither on the number of threads, nor on policy, kind of store and instruction
// set: each lane has the cells that it has.
template <class T>
using Sweep = std::function<void(const SweepArgs<T>&, SweepPlan, host::Store)>;

template <class T>
class Sums {
 public:
  Sums(Int3 shape, ReductionOp op)
      : host_(make_host_device()), shape_(shape), op_(op), in_(random_field<T>(*host_, shape, 1, 31)) {}

  void expect_the_same(const StencilKernel<T>& row, const Sweep<T>& sweep, std::string_view set) {
    SCOPED_TRACE(fmt::format("{}, {}", row.name, set));
    for (int policy = 0; policy < static_cast<int>(row.policies.size()); ++policy) {
      for (const host::Store store : {host::Store::streaming, host::Store::cached}) {
        Field<T> out = filled(*host_, shape_, 1, T(0));
        std::vector<double> scratch(row.norm_scratch_bytes({{0, 0, 0}, shape_}, policy) / sizeof(double));
        double found = std::nan("");
        sweep({std::as_const(in_).view(),
               out.view(),
               {{0, 0, 0}, shape_},
               coefficients<T>(),
               {},
               {},
               {op_, &found, scratch.data(), false}},
              {1, policy}, store);
        if (!first_) first_ = found;
        EXPECT_EQ(found, *first_) << "policy " << policy << ", " << text(shape_);
      }
    }
  }

 private:
  std::unique_ptr<Device> host_;
  Int3 shape_;
  ReductionOp op_;
  Field<T> in_;
  std::optional<double> first_;
};

template <class T, class SweepOf>
void expect_sums_of_their_own(std::string_view name, const SweepOf& sweep_of) {
  for (Int3 shape : {Int3{67, 31, 19}, Int3{5000, 5, 3}, Int3{31, 4, 4}}) {
    for (const ReductionOp op : {ReductionOp::sum_abs, ReductionOp::sum_squares}) {
      Sums<T> sums(shape, op);
      for (const std::string_view set : instruction_sets()) {
        const StencilKernel<T> row = row_of({name, "", Backend::host, set}, stencil_kernels<T>);
        for_instruction_set(set, [&](auto isa) {
          on_threads({1, 2, 3, 4}, [&] { sums.expect_the_same(row, sweep_of(isa), set); });
        });
      }
    }
  }
}

template <class T>
void expect_sums_of_their_own() {
  expect_sums_of_their_own<T>("openmp", [](auto isa) -> Sweep<T> {
    return [](const SweepArgs<T>& args, SweepPlan plan, host::Store store) {
      host::sweep_openmp<decltype(isa)>(args, plan, store);
    };
  });
  expect_sums_of_their_own<T>("temporal_openmp", [](auto isa) -> Sweep<T> {
    return [](const SweepArgs<T>& args, SweepPlan plan, host::Store store) {
      host::sweep_temporal_openmp<decltype(isa)>(args, plan, store, 1 << 20);
    };
  });
}

TEST(FusedNormOpenmp, HasTheSameBitsForAnyThreadsPolicyAndInstructionSet) {
  expect_sums_of_their_own<float>();
  expect_sums_of_their_own<double>();
}

}  // namespace
}  // namespace isotherm::test
