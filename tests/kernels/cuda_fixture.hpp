// The fixture of cases that need a GPU: the first device, or a skip that says why there is none.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "core/device.hpp"

namespace isotherm {

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices found = find_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.why_none;
    device = make_cuda_device(0);
  }

  std::unique_ptr<Device> device;
};

}  // namespace isotherm
