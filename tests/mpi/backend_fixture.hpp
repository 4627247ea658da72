// Tests that run on the host and, named *Cuda*, on CUDA devices: one device a rank, shared when ranks are
// more.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/agree.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "halo/transport.hpp"

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

// What a solver comes to, for tests that expect two ways to the same bits.
struct SolverAnswer {
  std::uint64_t fingerprint;
  double residual;
  bool operator==(const SolverAnswer&) const = default;
};

inline std::array<bool, 3> periodic(const Config& config) {
  std::array<bool, 3> axes{};
  for (std::size_t a = 0; a < 3; ++a) axes[a] = config.boundaries[2 * a].kind == BoundaryKind::periodic;
  return axes;
}

// The transports that tests hold for: `auto`, and the rows of the table that can work here, those of the
// device less those whose ranks cannot meet.
// Collective. Rank 0 says which rows are left out, and why.
inline std::vector<std::string> usable_transports(Device& device, const Communicator& communicator) {
  std::vector<std::string> usable{"auto"};
  for (const TransportRow<double>& row : transport_rows<double>()) {
    if (!row.moves_data) continue;
    std::string why = row.unsupported(device);
    try {
      if (why.empty()) agree(communicator, [&] { row.make(device, communicator); });
    } catch (const Error& e) {
      why = e.what();
    }
    if (why.empty()) {
      usable.emplace_back(row.name);
    } else if (communicator.is_root()) {
      fmt::print("transport {} is left out: {}\n", row.name, why);
    }
  }
  return usable;
}

// The suite `Name` as Host/Name.* and Cuda/Name.*.
#define ISOTHERM_ON_EACH_BACKEND(Name)                                  \
  INSTANTIATE_TEST_SUITE_P(Host, Name, testing::Values(Backend::host)); \
  INSTANTIATE_TEST_SUITE_P(Cuda, Name, testing::Values(Backend::cuda))

}  // namespace isotherm
