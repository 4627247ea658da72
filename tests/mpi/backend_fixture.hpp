// Tests that run on the host and, named *Cuda*, on CUDA devices: one device a rank, shared when ranks are
// more.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

class BackendTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::host) {
      device_ = make_host_device();
      return;
    }
    const CudaDevices found = find_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.why_none;
    device_ = make_cuda_device(world_.rank() % static_cast<int>(found.devices.size()));
  }
  Device& device() { return *device_; }
  const Communicator& world() const { return world_; }

 private:
  Communicator world_ = Communicator::world();
  std::unique_ptr<Device> device_;
};

// The suite `Name` as Host/Name.* and Cuda/Name.*.
#define ISOTHERM_ON_EACH_BACKEND(Name)                                  \
  INSTANTIATE_TEST_SUITE_P(Host, Name, testing::Values(Backend::host)); \
  INSTANTIATE_TEST_SUITE_P(Cuda, Name, testing::Values(Backend::cuda))

}  // namespace isotherm
