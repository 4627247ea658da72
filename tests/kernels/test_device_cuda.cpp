// The CUDA device: its message if there is none, memory, copies, order and errors.
#include <chrono>
#include <thread>

#include "support.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(DeviceSearch, SaysWhyThereIsNone) {
  const CudaDevices found = find_cuda_devices();
  EXPECT_EQ(found.devices.empty(), !found.why_none.empty()) << found.why_none;
}

TEST(DeviceSearch, RefusesDevicesThatAreNotThere) {
  for (const int index : {-1, 1000})
    expect_says(refusal([&] { make_cuda_device(index); }, ExitCode::unavailable), "no CUDA device");
}

TEST(DeviceHost, StopwatchTakesTheTimeOfWork) {
  const auto host = make_host_device();
  Stopwatch watch(*host, {});
  EXPECT_GE(watch.seconds([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }), 0.02);
  EXPECT_GE(watch.seconds([] {}), 0);
}

using DeviceCuda = CudaTest;

TEST_F(DeviceCuda, DescribesItself) {
  const DeviceInfo info = device->info();
  EXPECT_EQ(device->backend(), Backend::cuda);
  EXPECT_EQ(info.backend, Backend::cuda);
  EXPECT_EQ(info.index, 0);
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.uuid.size(), std::string("GPU-01234567-0123-0123-0123-0123456789ab").size()) << info.uuid;
  EXPECT_NE(info.detail.find("compute capability"), std::string::npos) << info.detail;
}

TEST_F(DeviceCuda, MemoryShrinksByWhatIsAllocated) {
  const MemoryInfo before = device->memory();
  const Buffer buffer(*device, 256 * mebibyte);
  const MemoryInfo after = device->memory();
  EXPECT_EQ(after.total_bytes, before.total_bytes);
  EXPECT_LE(before.free_bytes, before.total_bytes);
  EXPECT_LE(after.free_bytes + 128 * mebibyte, before.free_bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 128, 0u);
}

TEST_F(DeviceCuda, AllocationThatDoesNotFitNamesBothFigures) {
  for (const Memory kind : {Memory::device, Memory::staging}) {
    const std::size_t asked = std::size_t{1} << 50;
    const std::string text = refusal([&] { device->allocate(asked, kind); }, ExitCode::memory);
    expect_says(text, std::to_string(asked) + " bytes");
    expect_says(text, " bytes are free");
    EXPECT_EQ(text.find("(0 bytes"), std::string::npos) << text;
    // The exception clears the error: the next call must not report it again.
    EXPECT_NO_THROW(Buffer(*device, mebibyte, kind));
    EXPECT_NO_THROW(device->synchronize(Stream{}));
  }
}

// The second stream reads what the first writes last, after copies that take far longer than a launch:
// without the event it would read the old value.
TEST_F(DeviceCuda, EventsOrderStreams) {
  const std::size_t bytes = 512 * mebibyte;
  const Buffer a(*device, bytes), b(*device, bytes), small = copied_to<std::uint32_t>(*device, {1});
  const Buffer after(*device, 4, Memory::staging), result(*device, 4, Memory::staging);
  *after.as<std::uint32_t>() = 2;
  *result.as<std::uint32_t>() = 0;
  const auto writer = own_stream(*device, Priority::normal);
  const auto reader = own_stream(*device, Priority::high);
  const auto written = own_event(*device);

  for (int i = 0; i < 16; ++i) device->copy(b.data(), a.data(), bytes, writer);
  device->copy(small.data(), after.data(), 4, writer);
  device->record(written, writer);
  device->wait(reader, written);
  device->copy(result.data(), small.data(), 4, reader);
  device->synchronize(reader);  // not the writer: the event implies its end
  EXPECT_EQ(*result.as<std::uint32_t>(), 2u);
  device->synchronize(written);
}

// A longer copy takes longer, and no copy takes zero time.
TEST_F(DeviceCuda, StopwatchTakesTheTimeOfQueuedWork) {
  const Owned<Stream> stream = own_stream(*device, Priority::normal);
  const Buffer from(*device, 256 * mebibyte), to(*device, 256 * mebibyte);
  Stopwatch watch(*device, stream);
  const auto copies = [&](int count) {
    return watch.seconds([&] {
      for (int i = 0; i < count; ++i) device->copy(to.data(), from.data(), to.bytes(), stream);
    });
  };
  copies(1);
  const double one = copies(1), many = copies(64);
  EXPECT_GT(one, 256e6 / 1e14);  // no memory is that fast
  EXPECT_GT(many, one);
}

TEST_F(DeviceCuda, FailedCallsAreErrorsAndLeaveTheDeviceUsable) {
  const Buffer buffer(*device, 4096);
  std::vector<char> host(4096);
  expect_says(refusal(
                  [&] {
                    device->copy(nullptr, buffer.data(), 4096, Stream{});
                    device->synchronize(Stream{});
                  },
                  ExitCode::internal),
              "CUDA device 0: cudaMemcpyAsync failed");
  EXPECT_NO_THROW(device->copy(host.data(), buffer.data(), 4096, Stream{}));
  EXPECT_NO_THROW(device->synchronize(Stream{}));
}

// Device 0 is the current device of a new thread, whatever the first thread did.
TEST_F(DeviceCuda, DevicesWorkFromAnyThreadAndConcurrently) {
  const int count = static_cast<int>(find_cuda_devices().devices.size());
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(make_cuda_device(i));
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&device = *devices[static_cast<std::size_t>(i)], i] {
      const std::vector<int> values(mebibyte, i + 1);
      EXPECT_EQ(test::fetched<int>(device, copied_to(device, values)), values) << "device " << i;
    });
  }
}

}  // namespace
}  // namespace isotherm
