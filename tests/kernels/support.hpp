// What the tests of rows share: seeded fields, their way to a device and back, every row as a named case.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/host/host_kernels.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {

// Of cases that need a GPU: the first device, or a skip that says why there is none.
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

// The device of a backend; null where this machine has none.
inline std::unique_ptr<Device> device_of(Backend backend) {
  if (backend == Backend::host) return make_host_device();
  return find_cuda_devices().devices.empty() ? nullptr : make_cuda_device(0);
}

template <class T>
T* begin(Field<T>& field) {
  return static_cast<T*>(field.data());
}
template <class T>
std::size_t elements(const Field<T>& field) {
  return field.bytes() / sizeof(T);
}

// A field in host memory whose every element, padding too, is `value`.
template <class T>
Field<T> filled(Device& host, Int3 extent, int ghosts, T value) {
  Field<T> field(host, extent, ghosts);
  std::fill_n(begin(field), elements(field), value);
  return field;
}

// ... or a random number in [-1, 1), with full mantissas.
template <class T>
Field<T> random_field(Device& host, Int3 extent, int ghosts, std::uint64_t seed) {
  Field<T> field(host, extent, ghosts);
  std::mt19937_64 random(seed);
  constexpr int bits = std::numeric_limits<T>::digits;
  constexpr T unit = T(2) / T(std::uint64_t{1} << bits);
  std::generate_n(begin(field), elements(field), [&] { return T(random() >> (64 - bits)) * unit - T(1); });
  return field;
}

template <class T>
Field<T> to_device(Device& device, const Field<T>& host) {
  const FieldView<const T> view = host.view();
  Field<T> copy(device, view.extent, view.ghosts);
  device.copy(copy.data(), host.data(), host.bytes(), {});
  device.synchronize(Stream{});
  return copy;
}

template <class T>
Field<T> to_host(Device& device, Device& host, const Field<T>& field) {
  const FieldView<const T> view = field.view();
  Field<T> copy(host, view.extent, view.ghosts);
  device.copy(copy.data(), field.data(), field.bytes(), {});
  device.synchronize(Stream{});
  return copy;
}

inline std::string text(Int3 n) {
  return fmt::format("{}x{}x{}", n.x, n.y, n.z);
}
inline std::string text(Box box) {
  return fmt::format("[{}, {})", text(box.lo), text(box.hi));
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// `before`, with the cells of `from` in the region.
template <class T>
Field<T> with_region(Field<T> before, const Field<T>& from, const Box& region) {
  for_each_cell(region, [&](Int3 c) { before.view()(c) = from.view()(c); });
  return before;
}

// Bit for bit over every padded cell; the first few differences are named.
template <class T>
void expect_same(FieldView<const T> expected, FieldView<const T> found) {
  ASSERT_EQ(expected.extent, found.extent);
  int reported = 0;
  const Box box = expected.padded();
  Box rows = box;
  rows.hi.x = rows.lo.x + 1;
  for_each_cell(rows, [&](Int3 c) {
    if (std::memcmp(&expected(c), &found(c), static_cast<std::size_t>(box.extent().x) * sizeof(T)) == 0)
      return;
    for (; c.x < box.hi.x; ++c.x) {
      if (same_bits(expected(c), found(c)) || ++reported > 5) continue;
      ADD_FAILURE() << "cell " << text(c) << ": expected " << expected(c) << ", found " << found(c);
    }
  });
  EXPECT_EQ(reported, 0) << "cells differ";
}

template <class T>
void expect_same_there(Device& device, const Field<T>& expected, const Field<T>& there) {
  const auto host = make_host_of(device);
  const Field<T> found = to_host(device, *host, there);
  expect_same<T>(expected.view(), found.view());
}

// On a device, from numbers of the host.
template <class T>
Buffer buffer_of(Device& device, const std::vector<T>& values) {
  Buffer buffer(device, values.size() * sizeof(T));
  device.copy(buffer.data(), values.data(), buffer.bytes(), {});
  device.synchronize(Stream{});
  return buffer;
}
template <class T>
T fetched(Device& device, const void* from) {
  T value{};
  device.copy(&value, from, sizeof value, {});
  device.synchronize(Stream{});
  return value;
}

// Grids of one cell, thin ones, odd ones, just below and above the width of a vector.
inline const std::vector<Int3> shapes = {{1, 1, 1},  {1, 9, 7},  {9, 1, 7},   {9, 7, 1},    {1, 1, 40},
                                         {40, 1, 1}, {15, 3, 2}, {16, 3, 2},  {17, 23, 31}, {33, 5, 4},
                                         {64, 4, 3}, {65, 2, 5}, {127, 6, 3}, {40, 34, 22}};

inline const std::vector<std::string_view> precisions = {"fp32", "fp64"};

// Calls body(T{}) for the precision of that name.
template <class Body>
void for_precision(std::string_view precision, const Body& body) {
  precision == "fp32" ? body(float{}) : body(double{});
}

// The tag of a host instruction set by its name, as a value: body(host::V4{}).
template <class Body>
void for_instruction_set(std::string_view name, const Body& body) {
#if defined(__x86_64__)
  if (name == "v3") return body(host::V3{});
  if (name == "v4") return body(host::V4{});
#endif
  body(host::Baseline{});
}

inline std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (InstructionSet set : {InstructionSet::baseline, InstructionSet::v3, InstructionSet::v4}) {
    if (can_use(set)) names.push_back(name(set));
  }
  return names;
}

// One row of a table on one precision; host kernels once more for each instruction set of this processor.
struct KernelCase {
  std::string_view kernel, precision;
  Backend backend;
  std::string_view instruction_set;  // empty: as the table has it

  std::string label() const {
    return fmt::format("{}_{}{}{}", kernel, precision, instruction_set.empty() ? "" : "_", instruction_set);
  }
  friend std::ostream& operator<<(std::ostream& out, const KernelCase& c) { return out << c.label(); }
};
inline std::string label_of(const testing::TestParamInfo<KernelCase>& info) {
  return info.param.label();
}

// The device of a row, and the host that has its layout.
class OnDevice : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    device_ = device_of(GetParam().backend);
    if (!device_) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
    host_ = make_host_of(*device_);
  }
  std::unique_ptr<Device> device_, host_;
};

// `Table` is a callable that gives the rows: the names are the same for both precisions.
template <class Registry>
std::vector<KernelCase> cases_of(const Registry& registry, Backend backend) {
  std::vector<KernelCase> cases;
  for (const auto& kernel : registry) {
    if (kernel.backend != backend) continue;
    if constexpr (requires { kernel.fused; }) {
      if (kernel.fused) continue;  // the sweep's: test_temporal.cpp
    }
    for (std::string_view precision : precisions) {
      cases.push_back({kernel.name, precision, backend, ""});
      if (backend != Backend::host) continue;
      for (std::string_view set : instruction_sets()) cases.push_back({kernel.name, precision, backend, set});
    }
  }
  return cases;
}

// What has no table: one row of that name on each backend.
struct NamedBackend {
  std::string_view name;
  Backend backend;
};

// The row of that name in a table.
template <class Registry>
const auto& kernel_named(const Registry& registry, std::string_view name) {
  return *std::find_if(registry.begin(), registry.end(),
                       [&](const auto& kernel) { return kernel.name == name; });
}

// The row of a case, by the registry: `table` is a callable that gives the table of an instruction set.
template <class Table>
auto kernel_of(const KernelCase& c, const Table& table) {
  const auto registry =
      table(c.instruction_set.empty() ? instruction_set()
                                      : choose_instruction_set(std::string(c.instruction_set).c_str()));
  return *std::find_if(registry.begin(), registry.end(), [&](const auto& kernel) {
    return kernel.name == c.kernel && kernel.backend == c.backend;
  });
}

}  // namespace test
}  // namespace isotherm
