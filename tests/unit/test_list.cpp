#include "app/list.hpp"

#include <gtest/gtest.h>

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

TEST(List, SaysWhatTheRowsTakeOfADeviceOrWhyItIsNotKnown) {
  const std::string text = list_text();
  const CudaDevices cuda = find_cuda_devices();
  if (cuda.devices.empty()) {
    EXPECT_NE(text.find("not known here: " + cuda.why_none), std::string::npos) << text;
  } else {
    EXPECT_NE(text.find("occupancy"), std::string::npos) << text;
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
