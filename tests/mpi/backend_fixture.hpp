// Tests that run on the host and, named *Cuda*, on CUDA devices: one device a rank, shared when ranks are
// more.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

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
  // Collective. Why a test cannot run that needs a GPU for each rank, as one's kernel waits for another's;
  // empty where it can.
  std::string why_no_gpu_each() const {
    std::map<std::string, int> owners;
    const std::vector<std::string> uuids = world_.all_gather(device_->info().uuid);
    for (std::size_t rank = 0; rank < uuids.size(); ++rank) {
      const auto [first, is_new] = owners.emplace(uuids[rank], rank);
      if (!is_new)
        return fmt::format("needs a GPU for each rank, and ranks {} and {} share {}", first->second, rank,
                           uuids[rank]);
    }
    return "";
  }

 private:
  Communicator world_ = Communicator::world();
  std::unique_ptr<Device> device_;
};

// The suite `Name` as Host/Name.* and Cuda/Name.*.
#define ISOTHERM_ON_EACH_BACKEND(Name)                                  \
  INSTANTIATE_TEST_SUITE_P(Host, Name, testing::Values(Backend::host)); \
  INSTANTIATE_TEST_SUITE_P(Cuda, Name, testing::Values(Backend::cuda))

}  // namespace isotherm
