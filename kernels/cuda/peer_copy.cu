// Halo exchange by stores into the memory of other GPUs, and the flags that order these stores.
//
//     store:  free -> all peers            this rank's ghosts and buffers may be overwritten
//             edge -> registers            the first batch, while the flags are in flight
//             wait for the peer's free     the peer's ghosts and buffers may be overwritten
//             edge -> the peer's ghosts    16-byte words where both sides are aligned: rows of y and z faces
//                  or the peer's buffer    16-byte words gathered from short rows: x faces
//             stored -> the peer           after the stores of all blocks of its messages
//     wait:   for `stored` of the peer
//             own buffer -> own ghosts
//             for `stored` of all peers
//
// Why `free`. The peer's edges of exchange k overwrite ghosts that this rank may still be reading. The edges
// that the peer receives do not show that this reading has ended. So the owner of the ghosts signals the end,
// in the launch that begins its next exchange: by then the sweeps before it on the stream have ended.
//
// No deadlock. The `free` of exchange k waits for the rank's own stream only: the first block that runs
// signals it on all links before it waits for any peer, however few blocks fit on the GPU. So all ranks
// signal `free`, all store, and all reach exchange k + 1. Buffers are unpacked on that stream, before the
// `free` of exchange k + 1. Ranks that share a GPU without MPS run in time slices: a wait costs a slice.
//
// Memory order. Flags are released and acquired at system scope. Blocks synchronise through a counter before
// one of them releases `stored`: block barrier, fence, counter; counter, fence, flag. Ghosts are read by
// kernels that start after wait(), so no cache holds older cells. Buffers are read after a block barrier that
// follows the acquire, by loads that may not be moved across it.
//
// Traffic: each cell of an edge is read once on this device and written once on the peer. An x face has one
// cell per row, so each cell costs a 32-byte sector here and another in the peer's ghosts. Stored directly
// into these ghosts, each cell would cross the link as a separate packet. Stored into a dense buffer, it
// costs the peer a read and a write of its own memory, which is some ten times as fast.
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/peer_flags.hpp"

namespace isotherm::cuda {
namespace {

// Such a block fits on a multiprocessor next to a sweep: a sweep in one wave leaves 18 000 registers free.
// Blocks of 512 threads need 43 000 and had to wait for the end of the sweep.
constexpr int block_threads = 128;
constexpr int batch = 4;  // words that a thread loads before it stores the first
// Approximate limit for all messages together: with this number of blocks, a face of 512 by 512 cells of 8
// bytes is in flight at once.
constexpr Index most_blocks = 256;

using Word = uint4;

// Assigns thread blocks to messages.
template <class T>
struct Plan {
  PeerMessages<T> messages;
  PeerLinks links;
  unsigned first_block[most_peer_messages];  // by message
  unsigned blocks_of[most_peer_messages];    // by link
  unsigned blocks;                           // of all messages
};
static_assert(sizeof(Plan<double>) <= 4096, "the largest parameters of a launch");

// Called by a whole warp of every block. The first block that arrives signals `free` to all peers.
__device__ __forceinline__ void signal_free(const PeerLinks& links, std::uint64_t exchange) {
  const int lane = threadIdx.x % warp_size;
  unsigned before = 0;
  if (lane == 0) before = atomicAdd(&links.progress->entered, 1u);
  if (__shfl_sync(0xffffffffu, before, 0) != 0) return;
  if (lane < links.count) publish(links.link[lane].there->free, exchange);
}

// Called by one thread of every block, after a block barrier that follows the stores of all threads.
template <class T>
__device__ __forceinline__ void signal_stored(const Plan<T>& plan, int link, std::uint64_t exchange) {
  PeerProgress& progress = *plan.links.progress;
  __threadfence_system();
  if (atomicAdd(&progress.done_of[link], 1u) + 1 == plan.blocks_of[link]) {
    progress.done_of[link] = 0;
    __threadfence_system();
    publish(plan.links.link[link].there->stored, exchange);
  }
  if (atomicAdd(&progress.done, 1u) + 1 == plan.blocks) {  // no later reader in this launch
    progress.entered = progress.done = 0;
    progress.exchange = exchange;
  }
}

// Iterates over the positions in a box that one of many threads takes, x fastest. Divides only at the start.
class Walk {
 public:
  __device__ __forceinline__ Walk(Int3 extent, Index thread, Index threads)
      : extent_(extent), at_(split(thread)), step_(split(threads)) {}
  __device__ __forceinline__ bool ended() const { return at_.z >= extent_.z; }
  __device__ __forceinline__ Index offset(Index pitch_y, Index pitch_z) const {
    return at_.x + at_.y * pitch_y + at_.z * pitch_z;
  }
  // next() advances by the number of threads, next_cell() by one cell.
  __device__ __forceinline__ void next() { advance(step_); }
  __device__ __forceinline__ void next_cell() { advance({1, 0, 0}); }

 private:
  __device__ __forceinline__ Int3 split(Index place) const {
    const Index row = place / extent_.x;
    return {place - row * extent_.x, row % extent_.y, row / extent_.y};
  }
  __device__ __forceinline__ void advance(Int3 step) {
    at_ = at_ + step;
    if (at_.x >= extent_.x) {
      at_.x -= extent_.x;
      ++at_.y;
    }
    if (at_.y >= extent_.y) {
      at_.y -= extent_.y;
      ++at_.z;
    }
  }
  Int3 extent_, at_, step_;
};

// One of the threads that copy a message.
struct Member {
  Index thread, threads;
};

// Copies rows from cell `first_x` on, in units of U. `extent` is in these units too.
template <class U, class T>
class RowCopy {
 public:
  __device__ __forceinline__ RowCopy(const PeerMessage<T>& m, Index first_x, Int3 extent, Member member)
      : from_(reinterpret_cast<const U*>(m.from + first_x)),
        to_(reinterpret_cast<U*>(m.to + first_x)),
        from_pitch_y_(m.from_pitch_y / unit),
        from_pitch_z_(m.from_pitch_z / unit),
        to_pitch_y_(m.to_pitch_y / unit),
        to_pitch_z_(m.to_pitch_z / unit),
        walk_(extent, member.thread, member.threads) {}
  // Loads this thread's next batch; false if there is none.
  __device__ __forceinline__ bool load() {
    if (walk_.ended()) return false;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      there_[i] = -1;
      if (walk_.ended()) continue;
      units_[i] = from_[walk_.offset(from_pitch_y_, from_pitch_z_)];
      there_[i] = walk_.offset(to_pitch_y_, to_pitch_z_);
      walk_.next();
    }
    return true;
  }
  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (there_[i] >= 0) to_[there_[i]] = units_[i];
    }
  }

 private:
  static constexpr Index unit = sizeof(U) / sizeof(T);
  const U* from_;
  U* to_;
  Index from_pitch_y_, from_pitch_z_, to_pitch_y_, to_pitch_z_;
  Walk walk_;
  U units_[batch];
  Index there_[batch];
};

// Gathers cells of several rows into 16-byte words of a contiguous destination.
template <class T>
class DenseCopy {
 public:
  __device__ __forceinline__ DenseCopy(const PeerMessage<T>& m, Member member)
      : from_(m.from),
        to_(m.to),
        pitch_y_(m.from_pitch_y),
        pitch_z_(m.from_pitch_z),
        next_(member.thread),
        threads_(member.threads),
        walk_(m.extent, member.thread * Pack<T>::cells, member.threads * Pack<T>::cells) {}
  __device__ __forceinline__ bool load() {
    if (walk_.ended()) return false;
    first_ = next_;
    count_ = 0;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      words_[i] = {};
      if (walk_.ended()) continue;
      Walk cell = walk_;
#pragma unroll
      for (int j = 0; j < Pack<T>::cells; ++j) {
        if (!cell.ended()) words_[i].v[j] = from_[cell.offset(pitch_y_, pitch_z_)];
        cell.next_cell();
      }
      walk_.next();
      ++count_;
    }
    next_ = first_ + batch * threads_;
    return true;
  }
  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (i < count_) words_[i].store(to_ + (first_ + i * threads_) * Pack<T>::cells);
    }
  }

 private:
  const T* from_;
  T* to_;
  Index pitch_y_, pitch_z_, first_ = 0, next_, threads_;
  int count_ = 0;
  Walk walk_;
  Pack<T> words_[batch];
};

// All threads of the block call may_store() while the first batch is being loaded: loads are from this
// device's memory and need no permission.
template <class Copy, class Permission>
__device__ __forceinline__ bool carry(Copy copy, Permission may_store) {
  bool more = copy.load();
  if (!may_store()) return false;
  for (; more; more = copy.load()) copy.store();
  return true;
}

// Do rows of both sides start at multiples of 16 bytes, and have a word at least?
template <class T>
ISOTHERM_HOST_DEVICE bool is_wide(const PeerMessage<T>& m) {
  const auto address = [](const T* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const auto bytes = [](Index pitch) { return static_cast<std::uintptr_t>(pitch) * sizeof(T); };
  return m.extent.x >= Pack<T>::cells &&
         ((address(m.from) | address(m.to) | bytes(m.from_pitch_y) | bytes(m.from_pitch_z) |
           bytes(m.to_pitch_y) | bytes(m.to_pitch_z)) %
          sizeof(Word)) == 0;
}

template <class T, class Permission>
__device__ __forceinline__ bool carry_rows(const PeerMessage<T>& m, Member member, Permission may_store) {
  if (!is_wide(m)) return carry(RowCopy<T, T>(m, 0, m.extent, member), may_store);
  const Index words = m.extent.x / Pack<T>::cells, in_words = words * Pack<T>::cells;
  const Int3 whole{words, m.extent.y, m.extent.z}, rest{m.extent.x - in_words, m.extent.y, m.extent.z};
  if (!carry(RowCopy<Word, T>(m, 0, whole, member), may_store)) return false;
  return rest.x == 0 || carry(RowCopy<T, T>(m, in_words, rest, member), [] { return true; });
}

template <class T>
__device__ __forceinline__ int message_of_block(const Plan<T>& plan) {
  int i = plan.messages.count - 1;
  while (blockIdx.x < plan.first_block[i]) --i;
  return i;
}
template <class T>
__device__ __forceinline__ Member member_of(const Plan<T>& plan, int message) {
  const unsigned first = plan.first_block[message];
  const unsigned end = message + 1 < plan.messages.count ? plan.first_block[message + 1] : plan.blocks;
  return {Index{blockIdx.x - first} * block_threads + threadIdx.x, Index{end - first} * block_threads};
}

template <class T>
__global__ void __launch_bounds__(block_threads) store_to_peers(const __grid_constant__ Plan<T> plan) {
  __shared__ bool is_free;
  const int i = message_of_block(plan);
  const PeerMessage<T>& m = plan.messages.message[i];
  const Member member = member_of(plan, i);
  const std::uint64_t exchange = plan.links.progress->exchange + 1;
  if (threadIdx.x < warp_size) signal_free(plan.links, exchange);
  const auto may_store = [&] {
    if (threadIdx.x == 0) {
      is_free = await(plan.links.link[m.link].here->free, exchange, *plan.links.abandoned);
    }
    __syncthreads();
    return is_free;
  };
  const bool all_stored = m.to_is_dense ? carry(DenseCopy<T>(m, member), may_store)  //
                                        : carry_rows(m, member, may_store);
  if (!all_stored) return;
  __syncthreads();
  if (threadIdx.x == 0) signal_stored(plan, m.link, exchange);
}

// The blocks of a message wait for its peer. A last block waits for all peers.
template <class T>
__global__ void __launch_bounds__(block_threads) wait_for_peers(const __grid_constant__ Plan<T> plan) {
  __shared__ bool is_here;
  const PeerLinks& links = plan.links;
  const std::uint64_t exchange = links.progress->exchange;
  const auto has_stored = [&](int link) {
    return await(links.link[link].here->stored, exchange, *links.abandoned);
  };
  if (blockIdx.x == plan.blocks) {
    const int link = static_cast<int>(threadIdx.x);
    if (link < links.count) has_stored(link);
    return;
  }
  const int i = message_of_block(plan);
  const PeerMessage<T>& m = plan.messages.message[i];
  if (threadIdx.x == 0) is_here = has_stored(m.link);
  __syncthreads();
  if (is_here) carry_rows(m, member_of(plan, i), [] { return true; });
}
static_assert(most_peer_messages <= warp_size);

// One warp, one lane per link. The launch that follows a sweep signals the end of the sweep.
__global__ void __launch_bounds__(warp_size) await_swept(const __grid_constant__ PeerLinks links) {
  const int link = static_cast<int>(threadIdx.x);
  if (link >= links.count) return;
  const std::uint64_t swept = links.progress->swept;
  publish(links.link[link].there->swept, swept);
  await(links.link[link].here->swept, swept, *links.abandoned);
}

template <class T>
__global__ void __launch_bounds__(block_threads) copy_boxes(const __grid_constant__ Plan<T> plan) {
  const int i = message_of_block(plan);
  carry_rows(plan.messages.message[i], member_of(plan, i), [] { return true; });
}

// The number of blocks in which each thread copies one batch.
template <class T>
Index blocks_wanted(const PeerMessage<T>& m) {
  const Index cells = m.extent.product();
  const Index units = m.to_is_dense ? ceil_div(cells, Pack<T>::cells)
                      : is_wide(m)  ? ceil_div(m.extent.x, Pack<T>::cells) * m.extent.y * m.extent.z
                                    : cells;
  return ceil_div(units, block_threads * batch);
}

template <class T>
Plan<T> plan_of(const PeerMessages<T>& messages, const PeerLinks& links) {
  Plan<T> plan{messages, links, {}, {}, 0};
  Index wanted = 0;
  for (int i = 0; i < messages.count; ++i) wanted += blocks_wanted(messages.message[i]);
  for (int i = 0; i < messages.count; ++i) {
    const PeerMessage<T>& m = messages.message[i];
    const Index share = blocks_wanted(m) * std::min(wanted, most_blocks) / wanted;
    const auto mine = static_cast<unsigned>(std::max<Index>(share, 1));
    plan.first_block[i] = plan.blocks;
    plan.blocks_of[m.link] += mine;
    plan.blocks += mine;
  }
  return plan;
}

template <class T>
void store(const PeerMessages<T>& messages, const PeerLinks& links, Stream stream) {
  const Plan<T> plan = plan_of(messages, links);
  launch("store_to_peers", store_to_peers<T>, {plan.blocks, block_threads}, stream, plan);
}

template <class T>
void wait(const PeerMessages<T>& arrivals, const PeerLinks& links, Stream stream) {
  const Plan<T> plan = plan_of(arrivals, links);
  const unsigned threads = plan.blocks == 0 ? warp_size : block_threads;
  launch("wait_for_peers", wait_for_peers<T>, {plan.blocks + 1, threads}, stream, plan);
}

void await_sweeps(const PeerLinks& links, Stream stream) {
  launch("await_swept", await_swept, {1, warp_size}, stream, links);
}

template <class T>
void copy(const PeerMessages<T>& messages, Stream stream) {
  if (messages.count == 0) return;
  const Plan<T> plan = plan_of(messages, {});
  launch("copy_boxes", copy_boxes<T>, {plan.blocks, block_threads}, stream, plan);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, PeerCopy, store<T>, wait<T>, await_sweeps, copy<T>)

}  // namespace isotherm::cuda
