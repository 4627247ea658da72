// What rows of the table refuse by themselves.
#include <gtest/gtest.h>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "deferred_device.hpp"
#include "halo/transport.hpp"

namespace isotherm {
namespace {

class OneGpuOfAll final : public DeferredDevice {
 public:
  DeviceInfo info() const override { return {Backend::cuda, 0, "shared", "GPU-1", ""}; }
};

TEST(NcclTransport, RefusesRanksThatShareAGpu) {
  const Communicator world = Communicator::world();
  const TransportRow<double>* row = find_transport<double>("nccl");
  ASSERT_NE(row, nullptr);
  OneGpuOfAll device;
  if (const std::string why = row->unsupported(device); !why.empty()) GTEST_SKIP() << why;
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  try {
    row->make(device, world);
    ADD_FAILURE() << "it was made";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::unavailable);
    EXPECT_STREQ(e.what(),
                 "ranks 0 and 1 share GPU-1, which NCCL does not allow; start one rank a GPU, or use another "
                 "transport");
  }
}

TEST(Transports, OnTheHostSayThatTheyNeedAGpu) {
  const auto host = make_host_device();
  EXPECT_EQ(find_transport<float>("mpi_device")->unsupported(*host), "needs a GPU; host does the same here");
  EXPECT_NE(find_transport<float>("nccl")->unsupported(*host), "");
  EXPECT_EQ(find_transport<float>("host")->unsupported(*host), "");
}

}  // namespace
}  // namespace isotherm
