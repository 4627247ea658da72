// What rows of the table refuse by themselves, and exchanges that are recorded.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "deferred_device.hpp"
#include "halo/exchange.hpp"
#include "usable_transports.hpp"

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

class RecordedHalo : public BackendTest {
 protected:
  // A ring of blocks along z; all cells of one hold one value, its ghosts included.
  void check(const std::string& transport) {
    const int ranks = world().size(), rank = world().rank();
    const Decomposition decomposition({4, 3, 2 * ranks}, {1, 1, ranks}, {false, false, true});
    const Int3 extent = decomposition.block(rank).extent();
    Field<double> field(device(), extent, 1), mirror(device(), extent, 1, Memory::staging);
    HaloExchange<double> halo(decomposition, world(), device(), {halo_field(field)},
                              {.name = transport, .timed = false});
    if (transport == "nccl") {
      EXPECT_EQ(halo.why_not_recordable(), "");
    }
    // `auto` may choose another row for each pair.
    if (!halo.why_not_recordable().empty()) return;
    const Owned<Stream> stream = own_stream(device(), Priority::high);
    device().begin_recording(stream);
    halo.start(field.view(), stream, stream);
    halo.finish(field.view(), stream, stream);
    const Owned<Graph> graph(device(), device().end_recording(stream));
    for (const double shift : {100, 200}) {
      std::fill_n(static_cast<double*>(mirror.data()), mirror.bytes() / sizeof(double), shift + rank);
      device().copy(field.data(), mirror.data(), mirror.bytes(), stream);
      device().launch(graph, stream);
      device().copy(mirror.data(), field.data(), mirror.bytes(), stream);
      device().synchronize(stream);
      const FieldView<double> cells = mirror.view();
      EXPECT_EQ(cells(0, 0, -1), shift + (rank + ranks - 1) % ranks);
      EXPECT_EQ(cells(3, 2, 2), shift + (rank + 1) % ranks);
      EXPECT_EQ(cells(3, 2, 1), shift + rank);
    }
  }
};

TEST_P(RecordedHalo, BringsWhatIsThereWhenItIsLaunched) {
  for (const std::string& transport : usable_transports(device(), world())) {
    if (transport == "auto") continue;  // one of the others
    SCOPED_TRACE(transport);
    check(transport);
  }
}
INSTANTIATE_TEST_SUITE_P(Cuda, RecordedHalo, testing::Values(Backend::cuda));

}  // namespace
}  // namespace isotherm
