// Shared by tests of kernels: seeded fields, copies to and from a device, each kernel as a named case.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "support/devices.hpp"
#include "support/field_by_index.hpp"
#include "support/process_grid.hpp"
#include "support/repeat.hpp"

namespace isotherm {

// For cases that need a GPU: makes the first device, or skips the test with the reason why there is none.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices found = find_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.why_none;
    device = make_cuda_device(0);
  }

  std::unique_ptr<Device> device;
};

namespace test {

// All elements of a field in host memory, including the padding.
template <class T>
std::span<T> elements(Field<T>& field) {
  return {static_cast<T*>(field.data()), field.bytes() / sizeof(T)};
}

// A field in host memory with `value` in every element, including the padding.
template <class T>
Field<T> filled(Device& host, Int3 extent, int ghosts, T value) {
  Field<T> field(host, extent, ghosts);
  std::ranges::fill(elements(field), value);
  return field;
}

// The same with random numbers in [-1, 1) that have full mantissas.
template <class T>
Field<T> random_field(Device& host, Int3 extent, int ghosts, std::uint64_t seed) {
  Field<T> field(host, extent, ghosts);
  std::mt19937_64 random(seed);
  constexpr int bits = std::numeric_limits<T>::digits;
  constexpr T unit = T(2) / T(std::uint64_t{1} << bits);
  std::ranges::generate(elements(field), [&] { return T(random() >> (64 - bits)) * unit - T(1); });
  return field;
}

// Values of all sizes, most of which cancel.
inline std::vector<double> hostile_values(Random& random) {
  const int spread = random.between(1, 2000);
  const int middle = random.between(-1060 + spread / 2, 1000 - spread / 2);
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) {
    const double value =
        std::ldexp(random.between(-1.0, 1.0), random.between(middle - spread / 2, middle + spread / 2));
    values.push_back(value);
    if (i % 3 != 0) values.push_back(-value * (i % 3 == 1 ? 1 : 1 + 0x1p-50));
  }
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

// A copy of a field of `device` or of the host, in the memory of `to`.
template <class T>
Field<T> copied(Device& device, Device& to, const Field<T>& field) {
  const FieldView<const T> view = field.view();
  Field<T> copy(to, view.extent, view.ghosts);
  device.copy(copy.data(), field.data(), field.bytes(), {});
  device.synchronize(Stream{});
  return copy;
}
template <class T>
Field<T> to_device(Device& device, const Field<T>& host) {
  return copied(device, device, host);
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}
template <class T>
bool same_bits_or_nan(T a, T b) {
  return same_bits(a, b) || (std::isnan(a) && std::isnan(b));
}

// Compares every padded cell bit by bit; the first few differences are reported.
template <class T>
void expect_same_there(Device& device, const Field<T>& expected, const Field<T>& there) {
  const auto host = make_host_device(device.row_alignment());
  const Field<T> found = copied(device, *host, there);
  ASSERT_EQ(expected.view().extent, found.view().extent);
  if (std::memcmp(expected.data(), found.data(), found.bytes()) == 0) return;
  int different = 0;
  for_each_cell(expected.view().padded(), [&](Int3 c) {
    const T wanted = expected.view()(c), actual = found.view()(c);
    if (same_bits(wanted, actual) || ++different > 5) return;
    ADD_FAILURE() << "cell " << text(c) << ": expected " << wanted << ", found " << actual;
  });
  EXPECT_EQ(different, 0) << "cells differ";
}

// Copies the values of a buffer to the host.
template <class T>
std::vector<T> fetched(Device& device, const Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  device.copy(values.data(), buffer.data(), buffer.bytes(), {});
  device.synchronize(Stream{});
  return values;
}
template <class T>
T fetched_value(Device& device, const Buffer& buffer) {
  return fetched<T>(device, buffer).front();
}

// Grids of one cell, thin grids, odd extents, extents just below and above the vector width.
inline const std::vector<Int3> shapes = {{1, 1, 1},  {1, 9, 7},  {9, 1, 7},   {9, 7, 1},    {1, 1, 40},
                                         {40, 1, 1}, {15, 3, 2}, {16, 3, 2},  {17, 23, 31}, {33, 5, 4},
                                         {64, 4, 3}, {65, 2, 5}, {127, 6, 3}, {40, 34, 22}};

constexpr ReductionOp all_ops[] = {ReductionOp::sum, ReductionOp::max_abs, ReductionOp::sum_abs,
                                   ReductionOp::sum_squares};
constexpr ReductionOp all_norms[] = {ReductionOp::max_abs, ReductionOp::sum_abs, ReductionOp::sum_squares};

// Calls body(T{}) for the precision of that name.
template <class Body>
void for_precision(std::string_view precision, const Body& body) {
  precision == "fp32" ? body(float{}) : body(double{});
}

inline std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets{InstructionSet::baseline, InstructionSet::v3, InstructionSet::v4};
  std::erase_if(sets, [](InstructionSet set) { return !can_use(set); });
  return sets;
}

// The upper parts of vector registers in use (bits of XCR0); 0 too where the processor does not report them.
// AVX code that returns with some in use makes each later SSE instruction slow.
inline unsigned upper_registers_in_use() {
  unsigned low = 0;
#if defined(__x86_64__)
  static const bool reported = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & 4) != 0;
  }();
  unsigned high = 0;
  if (reported) asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
#endif
  return low & (1u << 2 | 1u << 6);
}

// A kernel of a registry in one precision; host kernels also for each instruction set of this processor.
struct KernelCase {
  std::string_view kernel, precision;
  Backend backend;
  std::optional<InstructionSet> instruction_set{};  // otherwise that of the registry

  std::string label() const {
    const std::string set = instruction_set ? fmt::format("_{}", word(*instruction_set)) : "";
    return fmt::format("{}_{}{}", kernel, precision, set);
  }
  friend std::ostream& operator<<(std::ostream& out, const KernelCase& c) { return out << c.label(); }
};
inline std::string label_of(const testing::TestParamInfo<KernelCase>& info) { return info.param.label(); }

// The kernel of a case; `table` is a callable that returns the registry of an instruction set.
template <class Table>
auto kernel_of(const KernelCase& c, const Table& table) {
  const auto registry = table(c.instruction_set.value_or(instruction_set()));
  return *std::ranges::find_if(
      registry, [&](const auto& kernel) { return kernel.name == c.kernel && kernel.backend == c.backend; });
}
// The kernel of that name in a registry.
template <class Registry>
const auto& kernel_named(const Registry& registry, std::string_view name) {
  return *std::ranges::find_if(registry, [&](const auto& kernel) { return kernel.name == name; });
}

// The device of a case, and a host device with the same row alignment.
class OnDevice : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    if (GetParam().backend == Backend::cuda && find_cuda_devices().devices.empty())
      GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
    device_ = GetParam().backend == Backend::host ? make_host_device() : make_cuda_device(0);
    host_ = make_host_device(device_->row_alignment());
  }
  // Functions that are in no registry, such as FaceCopy<T>: those of the backend or of the instruction set.
  template <class Functions>
  Functions functions(const Functions& (*of_backend)(Backend)) const {
    Functions found = of_backend(GetParam().backend);
    if (const std::optional<InstructionSet> set = GetParam().instruction_set)
      host::for_instruction_set(*set, [&]<class Isa>(Isa) { found = host::functions<Isa, Functions>(); });
    return found;
  }
  std::unique_ptr<Device> device_, host_;
};

// One case per precision for each kernel that `keep` accepts: kernel names are the same for both precisions.
struct EveryKernel {
  bool operator()(const KernelEntry&) const { return true; }
};
template <class Registry, class Keep = EveryKernel>
std::vector<KernelCase> cases_of(const Registry& registry, Backend backend, const Keep& keep = {}) {
  std::vector<KernelCase> cases;
  for (const auto& kernel : registry) {
    if (kernel.backend != backend || !std::invoke(keep, kernel)) continue;
    for (const std::string_view precision : {"fp32", "fp64"}) {
      cases.push_back({kernel.name, precision, backend});
      if (backend != Backend::host) continue;
      for (InstructionSet set : instruction_sets()) cases.push_back({kernel.name, precision, backend, set});
    }
  }
  return cases;
}

// Instantiates the suite as Host/Suite.* and Cuda/Suite.*; `...`: the cases of `backend`.
#define ON_EACH_BACKEND(Suite, ...)                                                                    \
  inline std::vector<KernelCase> cases_of_##Suite(Backend backend) { return __VA_ARGS__; }             \
  INSTANTIATE_TEST_SUITE_P(Host, Suite, testing::ValuesIn(cases_of_##Suite(Backend::host)), label_of); \
  INSTANTIATE_TEST_SUITE_P(Cuda, Suite, testing::ValuesIn(cases_of_##Suite(Backend::cuda)), label_of)

// For functions that have no registry: a backend, or the host with one instruction set, and a precision.
inline std::vector<KernelCase> backend_cases(Backend backend) {
  const KernelEntry all{backend == Backend::host ? "host" : "cuda", backend, ""};
  return cases_of(std::array{all}, backend);
}

// Values that no compiler folds and whose products are inexact; they differ by sweep of a launch. The source
// is a field, or the same in every cell.
template <class T>
Coefficients<T> coefficients(int sweep = 0, bool has_field = false) {
  const T by = T(0.013) * static_cast<T>(sweep);
  const T sigma = has_field ? T(0.83) + by : T(1), heat = has_field ? T(0) : T(0.7) + by;
  return {T(0.37) - 2 * by, T(0.11) + by, T(0.13), T(0.075), sigma, heat};
}

// For tests that do not depend on the instruction set.
template <class Keep = EveryKernel>
std::vector<KernelCase> stencil_cases(Backend backend, const Keep& keep = {}) {
  std::vector<KernelCase> all = cases_of(stencil_kernels<double>(), backend, keep);
  std::erase_if(all, [](const KernelCase& c) { return c.instruction_set.has_value(); });
  return all;
}

// The tiles to test. Of a tile's throttles ("2x4x8x4@84") only the first: all are the same kernel, with other
// waiting times.
template <class T>
std::vector<int> tiles_of(const StencilKernel<T>& entry) {
  std::vector<int> chosen;
  std::set<std::string_view> seen;
  for (int tile = 0; tile < std::ssize(entry.tiles); ++tile) {
    const std::string_view name = entry.tiles[static_cast<std::size_t>(tile)];
    const std::size_t at = name.find('@');
    if (seen.insert(name.substr(0, at == name.npos ? at : at + 1)).second) chosen.push_back(tile);
  }
  return chosen;
}

// Tiny grids are tested in the first tile only, as all tiles run the same code and contain them whole.
inline bool is_tiny(Int3 shape) { return shape.product() < 100; }

class StencilTest : public OnDevice {
 protected:
  // Calls use(kernel, device) with the kernel in the case's precision.
  template <class Use>
  void on_kernel(const Use& use) const {
    for_precision(GetParam().precision,
                  [&]<class T>(T) { use(kernel_of(GetParam(), stencil_kernels<T>), *device_); });
  }
  // Calls use(kernel, tile, device, shape) for every tile of tiles_of() and shape.
  template <class Use>
  void on_every_tile(const std::vector<Int3>& on_shapes, const Use& use) const {
    on_kernel([&](const auto& kernel, Device& device) {
      for (const int tile : tiles_of(kernel)) {
        for (const Int3 shape : on_shapes) {
          if (tile > 0 && is_tiny(shape)) continue;
          SCOPED_TRACE(text(shape) + ", tile " + std::string(kernel.tiles[static_cast<std::size_t>(tile)]));
          use(kernel, tile, device, shape);
        }
      }
    });
  }
};

// The updated value of one cell with source `s`: the formula once more, in std::fma.
template <class T>
T swept(const Coefficients<T>& c, FieldView<const T> f, Int3 at, T s) {
  const Int3 x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1};
  T sum = std::fma(c.c0, f(at), c.sigma * s);
  sum = std::fma(c.cx, f(at - x) + f(at + x), sum);
  sum = std::fma(c.cy, f(at - y) + f(at + y), sum);
  return std::fma(c.cz, f(at - z) + f(at + z), sum);
}

// The reference for all kernels: the updated value of one cell in that sweep of a launch, from the ghosts as
// they are. `source`: the field, or null.
template <class T>
struct PlainFormula {
  T operator()(FieldView<const T> in, const Field<T>* source, Int3 at, int sweep) const {
    const Coefficients<T> c = coefficients<T>(sweep, source != nullptr);
    return swept(c, in, at, source ? source->view()(at) : c.heat);
  }
};

constexpr unsigned lower_faces = 0b010101, all_faces = 0b111111;

template <class T>
class BoundedBlock {
 public:
  // `faces`: bit mask of the faces with a boundary; `fields`: of those whose b is a field.
  BoundedBlock(Device& device, Int3 shape, int ghosts, unsigned faces = all_faces,
               unsigned fields = lower_faces)
      : shape_(shape), ghosts_(ghosts) {
    for (int f = 0; f < face_count; ++f) {
      Boundary<T>& boundary = boundaries.faces[f];
      boundary = {(faces >> f & 1) != 0, T(0.9) - T(0.3) * T(f)};
      for (int i = 0; i < most_sweeps_per_launch; ++i) boundary.b.sweep[i] = T(f) + T(0.1) + T(i) / 64;
      if ((fields >> f & 1) == 0) continue;
      const auto [p, q] = tangents(f);
      boundary.pitch = shape[p] + 2 * ghosts;
      boundary.sweep_pitch = boundary.pitch * (shape[q] + 2 * ghosts);
      std::vector<T> b(static_cast<std::size_t>(most_sweeps_per_launch * boundary.sweep_pitch));
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = field_value(i);
      boundary.b_field = kept(device, b) + ghosts * (1 + boundary.pitch);
    }
  }

  // Makes the boundary rule differ by cell, as for bodies of several materials.
  void differ_by_cell(Device& device) {
    for (int f = 0; f < face_count; ++f) {
      const auto [p, q] = tangents(f);
      Boundary<T>& boundary = boundaries.faces[f];
      boundary.cells_pitch = shape_[p] + 2 * ghosts_;
      boundary.differs_by_cell = true;
      std::vector<CellBoundary<T>> rules;
      for (Index j = -ghosts_; j < shape_[q] + ghosts_; ++j)
        for (Index i = -ghosts_; i < shape_[p] + ghosts_; ++i) rules.push_back(rule_at(f, i, j));
      boundary.cells = kept(device, rules) + ghosts_ * (1 + boundary.cells_pitch);
    }
  }

  // The block, extended by `layers` cells where there is no boundary.
  Box region(Index layers) const {
    Box box{{0, 0, 0}, shape_};
    for (int f = 0; f < face_count; ++f) {
      if (boundaries.faces[f].is_boundary) continue;
      f % 2 == 1 ? box.hi[f / 2] += layers : box.lo[f / 2] -= layers;
    }
    return box;
  }

  // Fills the ghosts beyond the boundaries across the given axes, for that sweep of a launch; `field` is in
  // host memory. Fills those next to cells of `over`: by default over the whole faces, and beyond open edges
  // as far as there are cells next to the ghosts.
  void fill_ghosts(FieldView<T> field, std::array<bool, 3> axes, int sweep = 0,
                   std::optional<Box> over = {}) const {
    for (int f = 0; f < face_count; ++f) {
      const int axis = f / 2;
      if (!axes[static_cast<std::size_t>(axis)] || !boundaries.faces[f].is_boundary) continue;
      const auto [p, q] = tangents(f);
      Box cells = over.value_or(region(ghosts_));
      const Index last = f % 2 == 1 ? shape_[axis] - 1 : 0;
      cells.lo[axis] = std::max(cells.lo[axis], last);
      cells.hi[axis] = std::min(cells.hi[axis], last + 1);
      for_each_cell(cells, [&](Int3 cell) {
        Int3 ghost = cell;
        ghost[axis] += f % 2 == 1 ? 1 : -1;
        const CellBoundary<T> rule = rule_at(f, cell[p], cell[q]);
        field(ghost) = std::fma(rule.a, field(cell), rule.slope * b_at(f, cell[p], cell[q], sweep));
      });
    }
  }

  Boundaries<T> boundaries;

 private:
  static std::array<int, 2> tangents(int f) { return {f / 2 == 0 ? 1 : 0, f / 2 == 2 ? 1 : 2}; }
  template <class Value>
  const Value* kept(Device& device, const std::vector<Value>& values) {
    return buffers_.emplace_back(copied_to(device, values)).template as<Value>();
  }
  static T field_value(std::size_t i) { return T(0.01) * T(i % 101); }
  CellBoundary<T> rule_at(int f, Index i, Index j) const {
    const T a = boundaries.faces[f].a;
    if (!boundaries.faces[f].differs_by_cell) return {a, 1, 1};
    const T share = T((3 * i + 5 * j + 64) % 16) / 16;
    return {a * share, 1 + share, 1};
  }
  T b_at(int f, Index i, Index j, int sweep) const {
    const Boundary<T>& boundary = boundaries.faces[f];
    const Index at = i + ghosts_ + (j + ghosts_) * boundary.pitch + sweep * boundary.sweep_pitch;
    return boundary.b_field ? field_value(static_cast<std::size_t>(at)) : boundary.b[sweep];
  }

  Int3 shape_;
  int ghosts_;
  std::vector<Buffer> buffers_;
};

// A block with boundaries, a field, and the expected result of a launch of `time_block` sweeps: plain sweeps,
// with the ghosts that the kernel fills itself. Other ghosts hold random values or those of the boundary
// rule. For a field with a NaN only the norm is tested: it must be NaN.
struct SweepSetting {
  Int3 shape;
  unsigned mask = all_faces, fields = all_faces;  // faces with a boundary; of them those whose b is a field
  bool has_source = false, ghosts_filled = false;
  bool by_cell = false;  // boundary rules that differ by cell
  int time_block = 1, ghosts = time_block + 1;
  std::optional<Int3> nan_at{};
};
template <class T>
class SweepCase {
 public:
  template <class Formula = PlainFormula<T>>
  SweepCase(const StencilKernel<T>& kernel, Device& device, const SweepSetting& setting,
            const Formula& formula = {})
      : device_(device), host_(make_host_device(device.row_alignment())), setting_(setting) {
    for (int sweep = 0; sweep < setting.time_block; ++sweep) {
      if (sweep > 0) std::swap(before_, swept_);
      here_.fill_ghosts(before_.view(), kernel.own_boundaries, sweep);
      for_each_cell(region(setting.ghosts - 1 - sweep), [&](Int3 at) {
        swept_.view()(at) =
            formula(std::as_const(before_).view(), setting.has_source ? &source_ : nullptr, at, sweep);
      });
    }
  }

  // The block, extended by `layers` of ghosts where there is no boundary.
  Box region(Index layers) const { return here_.region(layers); }

  // With an operation, also checks the norm. `interior`: the part that a step in two parts sweeps first.
  void expect_of(const StencilKernel<T>& kernel, int tile, const Box& region, std::optional<ReductionOp> op,
                 const std::optional<Box>& interior = {}) const {
    SCOPED_TRACE("region " + text(region) + ", boundaries " + std::to_string(setting_.mask) + ", ghosts " +
                 std::to_string(setting_.ghosts) + ", tile " + std::to_string(tile));
    const SweepPlan plan{setting_.time_block, tile};
    const bool norm = op && kernel.fuses_norm();
    Field<T> out = to_device(device_, untouched());
    SweepArgs<T> args{in_there_.view(), out.view(), region, coefficients<T>(), there_.boundaries, {}, {}};
    for (int i = 0; i < most_sweeps_per_launch; ++i)
      args.c.sweep[i] = coefficients<T>(i, setting_.has_source);
    if (setting_.has_source) args.source = source_there_.view();
    args.materials = materials;
    const Buffer result = copied_to<double>(device_, {std::nan("")});
    Buffer scratch;
    if (norm) {
      scratch = Buffer(device_, interior ? split_scratch_bytes(kernel, region, *interior, plan)
                                         : kernel.norm_scratch_bytes(region, tile));
      args.norm = {*op, result.template as<double>(), scratch.data(), false};
    }
    if (!interior || !interior->empty()) {
      args.region = interior.value_or(region);
      if (kernel.memory) kernel.memory->bytes(args.region, plan);
      EXPECT_EQ(upper_registers_in_use(), 0u);
      kernel.launch(args, plan, {});
      EXPECT_EQ(upper_registers_in_use(), 0u);
      args.norm.accumulate = true;
      args.region = region;
    }
    if (interior) launch_exterior(kernel, args, *interior, plan, {});
    if (setting_.nan_at) {
      EXPECT_TRUE(std::isnan(fetched_value<double>(device_, result)));
      return;
    }
    Field<T> expected = untouched();
    for_each_cell(region, [&](Int3 at) { expected.view()(at) = swept_.view()(at); });
    expect_same_there(device_, expected, out);
    if (!norm) return;
    double truth = 0;
    kernel_named(reduction_kernels<T>(), "reference")
        .launch({swept_.view(), before_.view(), region, *op, &truth, nullptr}, {});
    EXPECT_NEAR(fetched_value<double>(device_, result), truth,
                op == ReductionOp::max_abs ? 0.0 : 1e-12 * std::abs(truth));
  }

  Materials<T> materials;  // none, unless a test sets them

 private:
  BoundedBlock<T> block(Device& device) const {
    BoundedBlock<T> block(device, setting_.shape, setting_.ghosts, setting_.mask, setting_.fields);
    if (setting_.by_cell) block.differ_by_cell(device);
    return block;
  }
  Field<T> start() const {
    Field<T> field = random_field<T>(*host_, setting_.shape, setting_.ghosts, 51);
    if (setting_.ghosts_filled) here_.fill_ghosts(field.view(), {true, true, true});
    if (setting_.nan_at) field.view()(*setting_.nan_at) = std::numeric_limits<T>::quiet_NaN();
    return field;
  }
  Field<T> untouched() const { return filled(*host_, setting_.shape, setting_.ghosts, T(-7)); }

  Device& device_;
  std::unique_ptr<Device> host_;
  SweepSetting setting_;
  BoundedBlock<T> there_ = block(device_), here_ = block(*host_);
  // After all sweeps, and after all but the last.
  Field<T> swept_ = filled(*host_, setting_.shape, setting_.ghosts, T(0)), before_ = start();
  Field<T> source_ =
      random_field<T>(*host_, setting_.has_source ? setting_.shape : Int3{1, 1, 1}, setting_.ghosts, 52);
  Field<T> in_there_ = to_device(device_, before_), source_there_ = to_device(device_, source_);
};

}  // namespace test
}  // namespace isotherm
