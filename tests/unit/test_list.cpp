#include "app/list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "core/device.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {
namespace {

bool has_row(const std::string& text, std::string_view name, std::string_view backend) {
  const auto at = text.find("\n  " + std::string(name) + " ");
  return at != std::string::npos &&
         text.substr(at, text.find('\n', at + 1) - at).find(backend) != std::string::npos;
}

TEST(List, NamesEveryRowAndDevice) {
  const std::string text = list_text();
  for (const auto& row : stencil_kernels<double>())
    EXPECT_TRUE(has_row(text, row.name, word(row.backend))) << row.name << "\n" << text;
  for (const auto& row : reduction_kernels<double>())
    EXPECT_NE(text.find("  " + std::string(row.name) + " "), std::string::npos) << row.name << "\n" << text;
  for (const auto& row : histogram_kernels<double>())
    EXPECT_TRUE(has_row(text, row.name, word(row.backend))) << row.name << "\n" << text;
  EXPECT_NE(text.find("  host "), std::string::npos);
  EXPECT_NE(text.find(make_host_device()->info().name), std::string::npos);
  const CudaDevices cuda = find_cuda_devices();
  for (const DeviceInfo& device : cuda.devices) EXPECT_NE(text.find(device.name), std::string::npos);
  if (cuda.devices.empty()) {
    EXPECT_NE(text.find("no CUDA device: " + cuda.why_none), std::string::npos);
  }
}

TEST(List, NamesThePoliciesOfEveryRowThatWasBuilt) {
  const auto check = [](const auto& rows, const std::string& text) {
    for (const auto& row : rows) {
      if (!row.available()) continue;
      for (const std::string_view policy : row.policies)
        EXPECT_TRUE(has_row(text, row.name, policy)) << row.name << " " << policy << "\n" << text;
    }
  };
  const std::string text = "\n" + policy_table(stencil_kernels<float>(), stencil_kernels<double>());
  check(stencil_kernels<float>(), text);
  check(stencil_kernels<double>(), text);
  EXPECT_NE(list_text().find(text), std::string::npos) << list_text();
}

TEST(List, PoliciesStandByPrecision) {
  static constexpr std::array<std::string_view, 2> two = {"32x8x1", "64x4x1"};
  StencilKernel<float> fp32[] = {{"absent", Backend::cuda, ""}, {"tile", Backend::cuda, ""}};
  StencilKernel<double> fp64[] = {{"absent", Backend::cuda, ""}, {"tile", Backend::cuda, ""}};
  fp32[1].launch = [](const SweepArgs<float>&, SweepPlan, Stream) {};
  fp64[1].launch = [](const SweepArgs<double>&, SweepPlan, Stream) {};
  fp64[1].policies = two;
  EXPECT_EQ(policy_table(fp32, fp64),
            "  name  in fp32  in fp64\n"
            "  tile  -        32x8x1, 64x4x1\n");
}

TEST(List, SaysWhyARowDoesNotRunHere) {
  StencilKernel<double> rows[] = {{"absent", Backend::cuda, "a"},
                                  {"picky", Backend::cuda, "b"},
                                  {"any", Backend::cuda, "c"},
                                  {"plain", Backend::host, "d"}};
  for (auto& row : std::span(rows).subspan(1)) {
    row.launch = [](const SweepArgs<double>&, SweepPlan, Stream) {};
  }
  rows[1].unsupported = [](int) { return std::string("it needs more"); };
  rows[2].unsupported = [](int) { return std::string(); };
  EXPECT_EQ(stencil_table(rows, ""),
            "  name    backend  depth  available          remark\n"
            "  absent  cuda     1      not in this build  a\n"
            "  picky   cuda     1      no: it needs more  b\n"
            "  any     cuda     1      yes                c\n"
            "  plain   cpu      1      yes                d\n");
  EXPECT_EQ(stencil_table(rows, "no driver"),  // the rows are not asked
            "  name    backend  depth  available          remark\n"
            "  absent  cuda     1      not in this build  a\n"
            "  picky   cuda     1      no CUDA device     b\n"
            "  any     cuda     1      no CUDA device     c\n"
            "  plain   cpu      1      yes                d\n");
}

TEST(List, SaysWhatTheRowsTakeOfADeviceOrWhyItIsNotKnown) {
  const std::string text = list_text();
  const CudaDevices cuda = find_cuda_devices();
  if (cuda.devices.empty()) {
    EXPECT_NE(text.find("not known here: " + cuda.why_none), std::string::npos) << text;
  } else {
    EXPECT_NE(text.find("occupancy"), std::string::npos) << text;
    for (const auto& row : histogram_kernels<double>()) {
      const std::string line = "\n  " + std::string(row.name) + " ";
      EXPECT_TRUE(!row.resources || text.rfind(line) != text.find(line)) << row.name << "\n" << text;
    }
  }
}

TEST(List, ResourceTableHasEveryFigure) {
  const std::string text =
      resource_table({{"tile", "fp32", "32x8x1", {256, 40, 4352, 16, 6, 0.75}}, {"wide", "fp64", "-", {}}});
  EXPECT_EQ(text,
            "  row   precision  policy  threads  registers    shared  spilled  blocks  occupancy\n"
            "  tile  fp32       32x8x1      256         40  4.25 KiB     16 B       6       75 %\n"
            "  wide  fp64       -             0          0       0 B      0 B       0        0 %\n");
}

TEST(List, TablesOfBothPrecisionsAgree) {  // the list shows one
  const auto fp32 = stencil_kernels<float>();
  const auto fp64 = stencil_kernels<double>();
  ASSERT_EQ(fp32.size(), fp64.size());
  for (std::size_t i = 0; i < fp32.size(); ++i) {
    EXPECT_EQ(fp32[i].name, fp64[i].name);
    EXPECT_EQ(fp32[i].launch == nullptr, fp64[i].launch == nullptr);
  }
}

}  // namespace
}  // namespace isotherm
