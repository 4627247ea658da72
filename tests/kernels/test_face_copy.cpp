// Packing, unpacking, copies within a field, ghosts beyond boundaries, filling: on every backend.
#include <atomic>

#include "kernels/face_copy.hpp"
#include "kernels/peer_copy.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

// Every cell holds its own number, so that a misplaced cell is detected.
template <class T>
Field<T> numbered(Device& host, Int3 extent, int ghosts) {
  Field<T> field(host, extent, ghosts);
  std::ranges::generate(elements(field), [i = 0]() mutable { return static_cast<T>(i++); });
  return field;
}

class FaceCopyOf : public OnDevice {
 protected:
  // Boundaries on the faces whose bit is set in `mask`; the upper ones have a field of b. By default the
  // region is the block, extended by `extend` cells into the ghosts where there is no boundary.
  template <class T>
  void expect_ghosts(Int3 n, int ghosts, int extend, unsigned mask, std::optional<Box> region = {}) {
    constexpr unsigned odd_faces = 0b101010;
    const BoundedBlock<T> there(*device_, n, ghosts, mask, odd_faces),
        here(*host_, n, ghosts, mask, odd_faces);
    if (!region) region = there.region(extend);
    SCOPED_TRACE(fmt::format("{} ghosts {} boundaries {:b} region {}", text(n), ghosts, mask, text(*region)));
    Field<T> expected = random_field<T>(*host_, n, ghosts, 21), field = to_device(*device_, expected);
    functions(FaceCopy<T>::on).fill_boundaries(field.view(), there.boundaries, *region, {});
    here.fill_ghosts(expected.view(), {true, true, true}, 0, region);
    expect_same_there(*device_, expected, field);
  }
};

// Slabs at the six faces, an edge, a corner, the block, the padded block.
std::vector<Box> boxes_of(Int3 n, int g) {
  const Box padded{{-g, -g, -g}, {n.x + g, n.y + g, n.z + g}};
  std::vector<Box> boxes = {padded, {{0, 0, 0}, n}, {{-g, -g, 0}, {0, 0, n.z}}, {{-g, -g, -g}, {0, 0, 0}}};
  for (int axis = 0; axis < 3; ++axis) {
    Box low = padded, high = padded;
    low.hi[axis] = 0;
    high.lo[axis] = n[axis];
    boxes.push_back(low);
    boxes.push_back(high);
  }
  return boxes;
}

TEST_P(FaceCopyOf, PacksXFastestAndUnpacksWhatItPacked) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    // The last one has more planes than a grid can have thread blocks along z.
    for (Int3 n : {Int3{1, 1, 1}, Int3{17, 5, 3}, Int3{3, 17, 29}, Int3{64, 40, 33}, Int3{2, 1, 70001}}) {
      for (int g : {1, 2, 4}) {
        if (n.z > 70000 && g > 1) continue;
        const Field<T> field = to_device(*device_, numbered<T>(*host_, n, g));
        const Field<T> numbers = numbered<T>(*host_, n, g);
        for (const Box& box : boxes_of(n, g)) {
          SCOPED_TRACE(text(n) + " ghosts " + std::to_string(g) + " box " + text(box));
          const Buffer dense(*device_, static_cast<std::size_t>(box.cells()) * sizeof(T));
          functions(FaceCopy<T>::on).pack(field.view(), box, dense.template as<T>(), {});
          const std::vector<T> packed = fetched<T>(*device_, dense);
          std::size_t i = 0;
          Field<T> expected = filled<T>(*host_, n, g, T(-1));
          for_each_cell(box, [&](Int3 c) {
            EXPECT_EQ(packed[i++], numbers.view()(c));
            expected.view()(c) = numbers.view()(c);
          });
          Field<T> target = to_device(*device_, filled<T>(*host_, n, g, T(-1)));
          functions(FaceCopy<T>::on).unpack(dense.template as<T>(), target.view(), box, {});
          expect_same_there(*device_, expected, target);
        }
      }
    }
  });
}

TEST_P(FaceCopyOf, CopiesABoxWithinTheField) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Int3 n{19, 11, 7};
    for (int g : {1, 2, 4}) {
      for (int axis = 0; axis < 3; ++axis) {
        Box from{{-g, -g, -g}, {n.x + g, n.y + g, n.z + g}};
        from.lo[axis] = n[axis] - g;
        from.hi[axis] = n[axis];
        Int3 shift;
        shift[axis] = -n[axis];
        const Box to = from.shifted(shift);
        Field<T> field = to_device(*device_, numbered<T>(*host_, n, g));
        functions(FaceCopy<T>::on).copy_within(field.view(), from, to, {});
        Field<T> expected = numbered<T>(*host_, n, g);
        for_each_cell(to, [&](Int3 c) { expected.view()(c) = expected.view()(c - shift); });
        expect_same_there(*device_, expected, field);
      }
    }
  });
}

TEST_P(FaceCopyOf, FillsTheGhostsBeyondBoundariesAndNoOthers) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (Int3 n : {Int3{1, 1, 1}, Int3{7, 5, 3}, Int3{2, 9, 33}, Int3{130, 129, 2}}) {
      for (int ghosts : {1, 3}) {
        for (int extend : {0, ghosts - 1}) {
          for (unsigned mask = 0; mask < 64; ++mask) {
            const bool few = n.x > 100 && mask % 21 != 0;  // no faces, all lower, all upper, all
            if (!few) expect_ghosts<T>(n, ghosts, extend, mask);
          }
        }
      }
    }
    // A region reads the ghosts of a boundary only where it reaches that boundary.
    for (const Box& region :
         {Box{{1, 1, 1}, {8, 7, 6}}, Box{{0, 2, 1}, {9, 8, 6}}, Box{{3, 3, 3}, {3, 8, 7}}})
      expect_ghosts<T>({9, 8, 7}, 2, 0, all_faces, region);
  });
}

TEST_P(FaceCopyOf, FillsEveryPaddedCell) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (Int3 n : {Int3{1, 1, 1}, Int3{17, 5, 3}, Int3{40, 37, 41}, Int3{200, 1, 90}}) {
      for (int g : {1, 4}) {
        SCOPED_TRACE(text(n));
        Field<T> field = to_device(*device_, filled<T>(*host_, n, g, T(-1)));
        functions(FaceCopy<T>::on).fill(field.view(), T(293.15), {});
        expect_same_there(*device_, filled<T>(*host_, n, g, T(293.15)), field);
      }
    }
  });
}

ON_EACH_BACKEND(FaceCopyOf, backend_cases(backend));

// Direct stores into another field's ghosts, stores through a buffer, and their flags. Both sides are on one
// device: the test acts as the peers.

constexpr int links = 2;

// Data that two peers and this rank share, in memory that the host accesses too.
struct Shared {
  PeerFlags here[links], there[links];
  PeerProgress progress;
  std::uint32_t abandoned;

  PeerLinks peers() {
    PeerLinks all{{}, links, &progress, &abandoned};
    for (int i = 0; i < links; ++i) all.link[i] = {&here[i], &there[i]};
    return all;
  }
};

struct Boxes {
  Box from;
  Int3 to;
  int link;
};

class PeerCopyCuda : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!device) return;
    memory_ = Buffer(*device, sizeof(Shared), Memory::staging);
    shared = new (memory_.data()) Shared{};
    stream.emplace(own_stream(*device, Priority::high));
  }
  // Checks that the queued work waits for a peer, until the peer is abandoned.
  void expect_to_wait_until_given_up() {
    const Owned<Event> ended = own_event(*device);
    device->record(ended, *stream);
    EXPECT_FALSE(device->passed(ended));
    std::atomic_ref(shared->abandoned) = 1;
    device->synchronize(ended);
  }

  template <class T>
  void check(bool through_buffer, Int3 from_extent, Int3 to_extent, int ghosts,
             const std::vector<Boxes>& boxes) {
    SCOPED_TRACE(text(from_extent));
    const auto host = make_host_device(device->row_alignment());
    const Field<T> numbers = numbered<T>(*host, from_extent, ghosts), from = to_device(*device, numbers);
    Field<T> expected = filled(*host, to_extent, ghosts, T(-1)), to = to_device(*device, expected);

    PeerMessages<T> messages{}, arrivals{};
    std::vector<Buffer> buffers;
    for (const Boxes& b : boxes) {
      const Int3 n = b.from.extent();
      const FieldView<const T> source = from.view();
      const FieldView<T> target = to.view();
      PeerMessage<T> message{&source(b.from.lo), &target(b.to),  source.pitch_y,  source.pitch_z,
                             target.pitch_y,     target.pitch_z, b.from.extent(), b.link};
      if (through_buffer) {
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
    *shared = {};
    for (const std::uint64_t exchange : {1, 2, 3}) {
      shared->here[0] = shared->here[1] = {exchange, exchange, 0};
      PeerCopy<T>::on_gpu().store(messages, shared->peers(), *stream);
      PeerCopy<T>::on_gpu().wait(arrivals, shared->peers(), *stream);
      device->synchronize(*stream);
      for (const PeerFlags& there : shared->there) {
        EXPECT_EQ(there.free, exchange);
        EXPECT_EQ(there.stored, exchange);
      }
      EXPECT_EQ(shared->progress.exchange, exchange);
    }

    for (const Boxes& b : boxes)
      for_each_cell(b.from.extent(),
                    [&](Int3 c) { expected.view()(b.to + c) = numbers.view()(b.from.lo + c); });
    const Field<T> result = copied(*device, *host, to);  // compared with its padding
    EXPECT_EQ(std::memcmp(result.data(), expected.data(), result.bytes()), 0);
  }
  // Faces whose rows are whole words, rows with a remainder, single cells and corners, more words than one
  // thread block copies and more than all thread blocks copy at once.
  template <class T>
  void check_all(bool through_buffer) {
    for (const Index nx : {1, 2, 3, 5, 32, 33, 131, 1024}) {
      const Int3 n{nx, 9, 7}, m{nx, 5, 7};
      check<T>(through_buffer, n, m, 1,
               {{{{0, 8, 0}, {nx, 9, 7}}, {0, -1, 0}, 0}, {{{0, 0, 0}, {nx, 1, 7}}, {0, 5, 0}, 1}});
      check<T>(through_buffer, n, n, 1,
               {{{{0, 0, 0}, {nx, 9, 1}}, {0, 0, 7}, 1}, {{{0, 0, 6}, {nx, 9, 7}}, {0, 0, -1}, 0}});
      check<T>(through_buffer, n, {2, 9, 7}, 1,
               {{{{nx - 1, 0, 0}, {nx, 9, 7}}, {-1, 0, 0}, 0}, {{{0, 0, 0}, {1, 1, 1}}, {2, 9, 7}, 1}});
    }
    check<T>(through_buffer, {64, 40, 40}, {64, 40, 40}, 4,
             {{{{0, 0, 0}, {64, 40, 4}}, {0, 0, 40}, 0},
              {{{0, 36, 36}, {64, 40, 40}}, {0, -4, -4}, 0},
              {{{60, 0, 0}, {64, 40, 40}}, {-4, 0, 0}, 1}});
    check<T>(through_buffer, {1024, 300, 1}, {1024, 300, 1}, 1,
             {{{{0, 0, 0}, {1024, 300, 1}}, {0, 0, 1}, 0}, {{{1023, 0, 0}, {1024, 300, 1}}, {-1, 0, 0}, 1}});
  }

  Shared* shared = nullptr;
  std::optional<Owned<Stream>> stream;

 private:
  Buffer memory_;
};

TEST_F(PeerCopyCuda, CellsOfEveryBoxAndNoOthers) {
  for (const bool through_buffer : {false, true}) {
    check_all<float>(through_buffer);
    check_all<double>(through_buffer);
  }
}

// Cells that have not been stored are not unpacked: of two messages in buffers one has arrived.
TEST_F(PeerCopyCuda, NothingIsUnpackedBeforeThePeerHasStored) {
  const Buffer cells = copied_to<double>(*device, {0, 1, 2, 3, 4, 5, 6, 7});
  double* const cell = cells.as<double>();
  PeerMessages<double> arrivals{};
  for (const int link : {0, 1}) {
    arrivals.message[arrivals.count++] = {cell + 2 * link, cell + 4 + 2 * link, 1, 1, 1, 1, {1, 1, 1}, link};
  }
  shared->progress.exchange = 3;
  shared->here[0].stored = 2;
  shared->here[1].stored = 3;
  PeerCopy<double>::on_gpu().wait(arrivals, shared->peers(), *stream);
  expect_to_wait_until_given_up();

  EXPECT_EQ(fetched<double>(*device, cells), (std::vector<double>{0, 1, 2, 3, 4, 5, 2, 7}));
}

// One peer has set its `free` flag, the other never does.
TEST_F(PeerCopyCuda, NothingIsStoredIfThePeerIsNotFreeAndTheWaitEndsWhenItIsAbandoned) {
  // Cells 0 and 1 would become copies of cells 2 and 3, which are 1.
  const Buffer cells = copied_to<double>(*device, {0, 0, 1, 1});
  double* const cell = cells.as<double>();
  PeerMessages<double> messages{};
  for (const int link : {0, 1}) {
    messages.message[messages.count++] = {cell + 2 + link, cell + link, 1, 1, 1, 1, {1, 1, 1}, link};
  }
  shared->here[1].free = 1;
  PeerCopy<double>::on_gpu().store(messages, shared->peers(), *stream);
  PeerCopy<double>::on_gpu().wait({}, shared->peers(), *stream);
  expect_to_wait_until_given_up();

  EXPECT_EQ(fetched<double>(*device, cells), (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ(shared->there[0].free, 1u);  // this rank reports its own ghosts free nevertheless
  EXPECT_EQ(shared->there[0].stored, 0u);
  EXPECT_EQ(shared->there[1].stored, 1u);
}

}  // namespace
}  // namespace isotherm::test
