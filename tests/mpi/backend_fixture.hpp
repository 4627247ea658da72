// Tests that run on the host and, named *Cuda*, on CUDA devices: one device per rank, shared if there are
// more ranks.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/all_or_throw.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "halo/transport.hpp"
#include "physics/cells.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/solver.hpp"
#include "support/devices.hpp"
#include "support/process_grid.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {

inline int combinations = 0;  // count of the combinations of the current test
// A slow device tests only every `nth` combination, and different ones for each deck unless their number is a
// multiple of `nth`.
inline bool left_out(const Device& device, int nth) { return is_slow(device) && combinations++ % nth != 0; }

class BackendTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    combinations = 0;
    if (GetParam() == Backend::host) {
      device_ = make_host_device();
      return;
    }
    const CudaDevices found = find_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.why_none;
    const int count = static_cast<int>(found.devices.size());
    gpu_is_shared = world_.size() > count;
    device_ = make_cuda_device(world_.rank() % count);
  }
  Device& device() { return *device_; }
  const Communicator& world() const { return world_; }

 private:
  Communicator world_ = Communicator::world();
  std::unique_ptr<Device> device_;
};

inline Decomposition blocks_of(const Config& config, Int3 process_grid, int halo_width = 1) {
  return {config.grid.cells, process_grid, periodic_axes(config), halo_width};
}

// All ranks, in the most even process grid.
inline Decomposition even_blocks(const Config& config, int halo_width = 1) {
  return blocks_of(config, even_process_grid(Communicator::world().size()), halo_width);
}

// A solver with the deck's kernels. Its halo exchanges keep a reference to `communicator`. `graph`: sweeps
// are queued as graphs where possible. Starts from the field that is `stored`, if any.
template <class T>
Solver<T> solver_of(const Config& config, const Decomposition& decomposition,
                    const Communicator& communicator, Device& device, bool graph = false,
                    bool time_halos = false, const std::optional<StoredField>& stored = {}) {
  SolverKernels<T> kernels = choose_kernels<T>(config, device.backend());
  kernels.graph = kernels.graph || graph;
  return {config, decomposition, communicator, device, kernels, time_halos, stored};
}

// The reference for all other configurations: one rank on the host, plain loops, single sweeps.
template <class T>
class PlainSolver {
 public:
  explicit PlainSolver(Config config)
      : config_(plain(std::move(config))),
        solver_(config_, blocks_of(config_, {1, 1, 1}), Communicator::self(), *host_,
                choose_kernels<T>(config_, Backend::host)) {}
  Solver<T>& operator*() { return solver_; }
  Solver<T>* operator->() { return &solver_; }

 private:
  static Config plain(Config config) {
    config.solver = {.kernel = "reference", .reduction = config.solver.reduction, .halo_width = 1};
    config.parallel = {};
    return config;
  }
  const std::unique_ptr<Device> host_ = make_host_device();
  Config config_;
  Solver<T> solver_;
};

// Results of a solver, for tests that expect the same bits from two configurations.
struct SolverAnswer {
  std::uint64_t fingerprint;
  double residual;
  bool operator==(const SolverAnswer&) const = default;
};
// The results after each part of a run.
template <class T>
std::vector<SolverAnswer> answers(Solver<T>& solver, std::initializer_list<std::int64_t> parts) {
  std::vector<SolverAnswer> found;
  for (const std::int64_t sweeps : parts) {
    solver.sweep(sweeps);
    const double residual = solver.residual();
    found.push_back({solver.fingerprint(), residual});
  }
  return found;
}

// A folder of rank 0, which exists until no rank uses it. Constructor and destructor are collective.
class FolderOfAll {
 public:
  FolderOfAll() {
    if (world_.is_root()) mine_.emplace();
    path_ = world_.broadcast(mine_ ? mine_->path().string() : "");
  }
  ~FolderOfAll() { world_.barrier(); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Collective.
  void expect_names(const std::vector<std::string>& names) const {
    if (mine_) {
      EXPECT_EQ(mine_->names(), names);
    }
    world_.barrier();
  }

 private:
  const Communicator world_ = Communicator::world();
  std::optional<test::TemporaryFolder> mine_;
  std::string path_;
};

// Collective: random numbers that are the same on all ranks.
inline std::uint64_t seed_of_all(const Communicator& world) {
  const std::int64_t seed = world.is_root() ? static_cast<std::int64_t>(std::random_device()()) : 0;
  return static_cast<std::uint64_t>(world.all_reduce(seed, ReduceOp::sum));
}

// The transports of the registry that work on this device and between all ranks. Collective. Rank 0 prints
// which are left out, and why.
inline std::vector<std::string> usable_transports(Device& device, const Communicator& communicator) {
  std::vector<std::string> usable;
  for (const TransportEntry<double>& entry : transport_registry<double>()) {
    if (!entry.moves_data) continue;
    std::string why = entry.unsupported(device);
    try {
      if (why.empty()) all_or_throw(communicator, [&] { entry.make(device, communicator); });
    } catch (const Error& e) {
      why = e.what();
    }
    if (why.empty()) {
      usable.emplace_back(entry.name);
    } else if (communicator.is_root()) {
      fmt::print("transport {} is left out: {}\n", entry.name, why);
    }
  }
  return usable;
}

// Fixes one transport in tests that do not compare transports: OneAnswer.EveryTransport tests all of them,
// and measuring them takes longer than the sweeps.
inline void fix_transport(Config& config, Device& device, const Communicator& communicator) {
  config.parallel.transport = usable_transports(device, communicator).back();
}

// Instantiates the suite `Name` as Host/Name.* and Cuda/Name.*.
#define ISOTHERM_ON_EACH_BACKEND(Name)                                  \
  INSTANTIATE_TEST_SUITE_P(Host, Name, testing::Values(Backend::host)); \
  INSTANTIATE_TEST_SUITE_P(Cuda, Name, testing::Values(Backend::cuda))

}  // namespace isotherm
