// Every way to move bytes does what it should, the smallest arrays included: a stride or an offset that is
// longer than the array would move nothing, or less.
#include "kernels/bandwidth.hpp"

#include <gtest/gtest.h>

#include "cuda_fixture.hpp"

namespace isotherm {
namespace {

template <class T>
void pass(Device& device, std::size_t bytes) {
  for (const BandwidthRow<T>& row : bandwidth_rows<T>(device.backend())) {
    SCOPED_TRACE(testing::Message() << row.name << ", " << bytes << " bytes, fp" << 8 * sizeof(T));
    const auto probe = row.make(device, bytes, row.step);
    EXPECT_GT(probe->bytes(), 0);
    probe->prepare();
    probe->enqueue({});
    device.synchronize(Stream{});
    EXPECT_TRUE(probe->right());
  }
}

void all_rows_pass(Device& device) {
  for (const std::size_t bytes : {1u, 8u, 64u, 4096u, 100000u}) {
    pass<float>(device, bytes);
    pass<double>(device, bytes);
  }
}

TEST(Bandwidth, RowsMoveWhatTheyShould) {
  all_rows_pass(*make_host_device());
}

using BandwidthCuda = CudaTest;
TEST_F(BandwidthCuda, RowsMoveWhatTheyShould) {
  all_rows_pass(*device);
}

}  // namespace
}  // namespace isotherm
