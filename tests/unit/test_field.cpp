#include "grid/field.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace isotherm {
namespace {

template <class T>
void expect_aligned_rows(Device& device, Int3 extent, int ghosts) {
  Field<T> field(device, extent, ghosts);
  const FieldView<T> view = field.view();
  const auto unit = static_cast<std::uintptr_t>(device.row_alignment());
  const Box padded = view.padded();
  for (Index z = padded.lo.z; z < padded.hi.z; ++z)
    for (Index y = padded.lo.y; y < padded.hi.y; ++y)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&view(0, y, z)) % unit, 0u) << y << ", " << z;
  const T* const first = static_cast<const T*>(field.data());
  EXPECT_GE(&view(padded.lo), first);
  EXPECT_LE(&view(padded.hi - Int3{1, 1, 1}), first + field.bytes() / sizeof(T) - 1);
  EXPECT_GE(view.pitch_y, extent.x + 2 * ghosts);
  EXPECT_LT(view.pitch_y * static_cast<Index>(sizeof(T)),
            (extent.x + 2 * ghosts) * static_cast<Index>(sizeof(T)) + 16 + device.row_alignment());
}

TEST(Field, RowsStartWhereTheirDeviceWantsThem) {
  const auto host = make_host_device();
  EXPECT_EQ(host->row_alignment(), row_alignment(Backend::host));
  for (const Int3 extent : {Int3{1, 1, 1}, Int3{13, 3, 2}, Int3{16, 2, 3}, Int3{31, 2, 2}, Int3{256, 3, 1}})
    for (const int ghosts : {0, 1, 2, 4}) {
      expect_aligned_rows<float>(*host, extent, ghosts);
      expect_aligned_rows<double>(*host, extent, ghosts);
    }
}

// A GPU, as far as fields see one.
class WideDevice final : public Device {
 public:
  DeviceInfo info() const override { return {}; }
  Backend backend() const override { return Backend::cuda; }
  MemoryInfo memory() const override { return {}; }
  void* allocate(std::size_t bytes, Memory kind) override { return host_->allocate(bytes, kind); }
  void release(void* pointer, Memory kind) noexcept override { host_->release(pointer, kind); }
  void copy(void*, const void*, std::size_t, Stream) override {}
  Stream make_stream(Priority) override { return {}; }
  void release(Stream) noexcept override {}
  Event make_event() override { return {}; }
  Event make_timing_event() override { return {}; }
  void release(Event) noexcept override {}
  void record(Event, Stream) override {}
  void wait(Stream, Event) override {}
  void synchronize(Event) override {}
  bool passed(Event) override { return true; }
  double seconds_between(Event, Event) override { return 0; }
  void synchronize(Stream) override {}

 private:
  std::unique_ptr<Device> host_ = make_host_device();
};

TEST(Field, OfAMirrorHasTheLayoutOfWhatItMirrors) {
  WideDevice gpu;
  const auto mirror = make_host_of(gpu), host = make_host_device();
  expect_aligned_rows<float>(gpu, {17, 3, 2}, 1);
  Field<float> there(gpu, {17, 3, 2}, 1), here(*mirror, {17, 3, 2}, 1), own(*host, {17, 3, 2}, 1);
  EXPECT_EQ(here.view().pitch_y, there.view().pitch_y);
  EXPECT_EQ(here.bytes(), there.bytes());
  EXPECT_LT(own.bytes(), there.bytes());
}

}  // namespace
}  // namespace isotherm
