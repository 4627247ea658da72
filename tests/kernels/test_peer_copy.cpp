// Stores into another field's ghosts or by way of a buffer, and the flags around them, with both sides on one
// device: the test plays the peers.
#include "kernels/peer_copy.hpp"

#include <array>

#include "support.hpp"

namespace isotherm::test {
namespace {

constexpr int links = 2;

// What two peers and this rank share, and what the peers have said.
class Flags {
 public:
  explicit Flags(Device& device) : device_(device), memory_(device, sizeof(Shared)) {
    put([](Shared& shared) { shared = {}; });
    *abandoned_.as<std::uint32_t>() = 0;
  }
  struct Shared {
    PeerFlags here[links], there[links];
    PeerProgress progress;
  };

  PeerLinks get() {
    Shared* const shared = memory_.as<Shared>();
    PeerLinks all{{}, links, &shared->progress, abandoned_.as<std::uint32_t>()};
    for (int i = 0; i < links; ++i) all.link[i] = {&shared->here[i], &shared->there[i]};
    return all;
  }
  Shared look() {
    device_.copy(host_.data(), memory_.data(), sizeof(Shared), stream_);
    device_.synchronize(stream_);
    return *host_.as<Shared>();
  }
  template <class Change>
  void put(Change change) {
    change(*host_.as<Shared>());
    device_.copy(memory_.data(), host_.data(), sizeof(Shared), stream_);
    device_.synchronize(stream_);
  }
  void abandon() { *abandoned_.as<volatile std::uint32_t>() = 1; }

 private:
  Device& device_;
  Buffer memory_;
  Buffer host_{device_, sizeof(Shared), Memory::staging};
  Buffer abandoned_{device_, sizeof(std::uint32_t), Memory::staging};
  Owned<Stream> stream_ = own_stream(device_, Priority::normal);
};

struct Boxes {
  Box from;
  Int3 to;
  int link;
};

// How cells come to where they belong.
enum class Way { direct, buffer };

class PeerCopyCuda : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (device) host = make_host_of(*device);
  }
  // What is queued waits for a peer until it is given up.
  void expect_to_wait_until_given_up(Flags& flags) {
    const Owned<Event> ended = own_event(*device);
    device->record(ended, stream());
    EXPECT_FALSE(device->passed(ended));
    flags.abandon();
    device->synchronize(ended);
  }
  template <std::size_t n>
  std::array<double, n> fetched(const double* from) {
    std::array<double, n> cells{};
    device->copy(cells.data(), from, sizeof(cells), stream());
    device->synchronize(stream());
    return cells;
  }

  // Every cell of `from` is its place plus one, every cell of `to` its place, negative.
  template <class T>
  void check(Way way, Int3 from_extent, Int3 to_extent, int ghosts, const std::vector<Boxes>& boxes) {
    Field<T> from_host(*host, from_extent, ghosts), to_host(*host, to_extent, ghosts);
    for (std::size_t i = 0; i < elements(from_host); ++i) begin(from_host)[i] = static_cast<T>(i + 1);
    for (std::size_t i = 0; i < elements(to_host); ++i) begin(to_host)[i] = -static_cast<T>(i);
    Field<T> from = to_device(*device, from_host), to = to_device(*device, to_host);

    PeerMessages<T> messages{}, arrivals{};
    std::vector<Buffer> buffers;
    for (const Boxes& b : boxes) {
      const Int3 n = b.from.extent();
      const FieldView<T> source = from.view(), target = to.view();
      PeerMessage<T> message{&source(b.from.lo), &target(b.to),  source.pitch_y,  source.pitch_z,
                             target.pitch_y,     target.pitch_z, b.from.extent(), b.link};
      if (way == Way::buffer) {
        const auto bytes = static_cast<std::size_t>(n.product()) * sizeof(T);
        T* const dense = buffers.emplace_back(*device, (bytes + 15) / 16 * 16).template as<T>();
        arrivals.message[arrivals.count++] = {dense,          &target(b.to),  n.x, n.x * n.y,
                                              target.pitch_y, target.pitch_z, n,   b.link};
        message.to = dense;
        message.to_pitch_y = n.x;
        message.to_pitch_z = n.x * n.y;
        message.to_is_dense = true;
      }
      messages.message[messages.count++] = message;
    }
    Flags flags(*device);
    for (const std::uint64_t exchange : {1, 2, 3}) {
      flags.put([&](Flags::Shared& s) { s.here[0] = s.here[1] = {exchange, exchange, 0}; });
      peer_copy<T>().store(messages, flags.get(), stream());
      peer_copy<T>().wait(arrivals, flags.get(), stream());
      device->synchronize(stream());
      const Flags::Shared found = flags.look();
      for (const PeerFlags& there : found.there) {
        EXPECT_EQ(there.free, exchange);
        EXPECT_EQ(there.stored, exchange);
      }
      EXPECT_EQ(found.progress.exchange, exchange);
    }

    for (const Boxes& b : boxes)
      for_each_cell(b.from.extent(),
                    [&](Int3 c) { to_host.view()(b.to + c) = from_host.view()(b.from.lo + c); });
    const Field<T> result = test::to_host(*device, *host, to);
    EXPECT_EQ(std::memcmp(result.data(), to_host.data(), result.bytes()), 0)
        << from_extent.x << " cells along x";
  }
  // Faces whose rows are whole words, rows with a rest, single cells and corners, more words than one block
  // takes and more than all blocks take at once.
  template <class T>
  void check_all(Way way) {
    for (const Index nx : {1, 2, 3, 5, 32, 33, 131, 1024}) {
      const Int3 n{nx, 9, 7}, m{nx, 5, 7};
      check<T>(way, n, m, 1,
               {{{{0, 8, 0}, {nx, 9, 7}}, {0, -1, 0}, 0}, {{{0, 0, 0}, {nx, 1, 7}}, {0, 5, 0}, 1}});
      check<T>(way, n, n, 1,
               {{{{0, 0, 0}, {nx, 9, 1}}, {0, 0, 7}, 1}, {{{0, 0, 6}, {nx, 9, 7}}, {0, 0, -1}, 0}});
      check<T>(way, n, {2, 9, 7}, 1,
               {{{{nx - 1, 0, 0}, {nx, 9, 7}}, {-1, 0, 0}, 0}, {{{0, 0, 0}, {1, 1, 1}}, {2, 9, 7}, 1}});
    }
    check<T>(way, {64, 40, 40}, {64, 40, 40}, 4,
             {{{{0, 0, 0}, {64, 40, 4}}, {0, 0, 40}, 0},
              {{{0, 36, 36}, {64, 40, 40}}, {0, -4, -4}, 0},
              {{{60, 0, 0}, {64, 40, 40}}, {-4, 0, 0}, 1}});
    check<T>(way, {1024, 300, 1}, {1024, 300, 1}, 1,
             {{{{0, 0, 0}, {1024, 300, 1}}, {0, 0, 1}, 0}, {{{1023, 0, 0}, {1024, 300, 1}}, {-1, 0, 0}, 1}});
  }
  Stream stream() {
    if (!stream_) stream_.emplace(own_stream(*device, Priority::high));
    return *stream_;
  }
  std::unique_ptr<Device> host;

 private:
  std::optional<Owned<Stream>> stream_;
};

TEST_F(PeerCopyCuda, CellsOfEveryBoxAndNoOthers) {
  for (const Way way : {Way::direct, Way::buffer}) {
    check_all<float>(way);
    check_all<double>(way);
  }
}

// What has not been stored is not unpacked: of two messages in buffers one has come.
TEST_F(PeerCopyCuda, NothingIsUnpackedBeforeThePeerHasStored) {
  Buffer cells(*device, 64), start(*device, 64, Memory::staging);
  for (int i = 0; i < 8; ++i) start.as<double>()[i] = i;
  device->copy(cells.data(), start.data(), 64, stream());
  device->synchronize(stream());
  double* const cell = cells.as<double>();
  PeerMessages<double> arrivals{};
  for (const int link : {0, 1}) {
    arrivals.message[arrivals.count++] = {cell + 2 * link, cell + 4 + 2 * link, 1, 1, 1, 1, {1, 1, 1}, link};
  }
  Flags flags(*device);
  flags.put([](Flags::Shared& s) {
    s.progress.exchange = 3;
    s.here[0].stored = 2;
    s.here[1].stored = 3;
  });
  peer_copy<double>().wait(arrivals, flags.get(), stream());
  expect_to_wait_until_given_up(flags);

  EXPECT_EQ(fetched<8>(cell), (std::array<double, 8>{0, 1, 2, 3, 4, 5, 2, 7}));
}

// One peer has said that it is free, the other never does.
TEST_F(PeerCopyCuda, NothingIsStoredWhereThePeerIsNotFreeAndAllEndsWhenItIsGivenUp) {
  Buffer cells(*device, 64), zeros(*device, 64, Memory::staging);
  std::fill_n(zeros.as<std::byte>(), 64, std::byte{0});
  device->copy(cells.data(), zeros.data(), 64, stream());
  device->synchronize(stream());
  double* const cell = cells.as<double>();
  PeerMessages<double> messages{};
  // Cells 0 and 1 would become cells 2 and 3, which are all one.
  const Buffer ones(*device, 16, Memory::staging);
  ones.as<double>()[0] = ones.as<double>()[1] = 1;
  device->copy(cell + 2, ones.data(), 16, stream());
  for (const int link : {0, 1}) {
    messages.message[messages.count++] = {cell + 2 + link, cell + link, 1, 1, 1, 1, {1, 1, 1}, link};
  }
  Flags flags(*device);
  flags.put([](Flags::Shared& s) { s.here[1].free = 1; });
  peer_copy<double>().store(messages, flags.get(), stream());
  peer_copy<double>().wait({}, flags.get(), stream());
  expect_to_wait_until_given_up(flags);

  EXPECT_EQ(fetched<2>(cell), (std::array<double, 2>{0, 1}));
  const Flags::Shared after = flags.look();
  EXPECT_EQ(after.there[0].free, 1u);  // this rank's ghosts are free all the same
  EXPECT_EQ(after.there[0].stored, 0u);
  EXPECT_EQ(after.there[1].stored, 1u);
}

}  // namespace
}  // namespace isotherm::test
