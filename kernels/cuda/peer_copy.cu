// Stores into the ghosts of other GPUs, and who may do so when.
//
//     store:  free -> all peers         my ghosts may be overwritten
//             wait for the peer's free  his too
//             edge -> his ghosts        16-byte words where both sides are aligned: rows of y and z faces
//             stored -> the peer        behind the stores of all blocks of his messages
//     wait:   until all peers have stored
//
// Why `free`. The peer's edges of exchange k overwrite ghosts that this rank may still be reading. Edges that
// arrived from him prove only what his own stream has passed, and with them he proves nothing about ghosts
// that other streams read: a field that is exchanged every time, or every d sweeps, has readers right up to
// the next exchange. So the owner says it himself, in the launch that begins his next exchange: his stream
// has waited for the sweeps by then. (Where two fields alternate and each is read by one sweep only, the
// edges of exchange k prove that the ghosts of k + 1, those of the other field, are free, and the wait could
// be left out. It costs the flight of a flag, about a microsecond, and lets a rank that is ahead not run
// further ahead than its neighbours.)
//
// Why it ends. A rank's `free` of exchange k waits for nothing but its own stream: the first block of the
// launch that runs at all says it for all links before it waits for anyone, whatever the order in which the
// GPU starts blocks, however few fit on it. So all ranks say it, so all store, so all have stored, and all
// come to exchange k + 1. Ranks that share a GPU without MPS take turns in slices of time: a wait costs a
// slice, not for ever.
//
// Memory order. Flags are released and acquired at system scope. Blocks join at a counter before one of them
// releases `stored`: block barrier, fence, counter; counter, fence, flag. What is read in the ghosts is read
// by kernels that start behind wait(), so that no cache holds older cells.
//
// Traffic: each cell of an edge is read once here and written once there. An x face has a cell a row: each is
// a sector of 32 bytes here and a packet of its own on the way.
#include <cuda/atomic>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

struct Policy {
  static constexpr int threads = 512;
  static constexpr int batch = 4;  // words that a thread loads before it stores the first
  // About so many in all, whatever the number of messages: 16 come near the wire's speed, and blocks that
  // wait for a late peer are lost to the sweep of the interior.
  static constexpr Index most_blocks = 64;
  // A waiting thread looks at a flag, sleeps this long, and looks now and then for the end of it all.
  static constexpr unsigned sleep_ns = 32, looks = 1024;
};

using Word = uint4;

// Which blocks store which message.
template <class T>
struct Plan {
  PeerMessages<T> messages;
  PeerLinks links;
  unsigned first_block[most_peer_messages];  // by message
  unsigned blocks_of[most_peer_messages];    // by link
};
static_assert(sizeof(Plan<double>) <= 4096, "what a launch can take along");

// --- flags
// ---------------------------------------------------------------------------------------------------

template <class Value>
using SystemAtomic = ::cuda::atomic_ref<Value, ::cuda::thread_scope_system>;

__device__ __forceinline__ void publish(std::uint64_t& flag, std::uint64_t exchange) {
  SystemAtomic<std::uint64_t>(flag).store(exchange, ::cuda::std::memory_order_release);
}

// False where it was given up.
__device__ __forceinline__ bool await(std::uint64_t& flag, std::uint64_t exchange, std::uint32_t& abandoned) {
  SystemAtomic<std::uint64_t> peers(flag);
  SystemAtomic<std::uint32_t> given_up(abandoned);
  for (unsigned look = 1;; ++look) {
    if (peers.load(::cuda::std::memory_order_acquire) >= exchange) return true;
    if (look % Policy::looks == 0 && given_up.load(::cuda::std::memory_order_relaxed) != 0) return false;
    __nanosleep(Policy::sleep_ns);
  }
}

// By a whole warp of every block: the first block that comes here tells all peers.
__device__ __forceinline__ void say_free(const PeerLinks& links, std::uint64_t exchange) {
  const int lane = threadIdx.x % warp_size;
  unsigned before = 0;
  if (lane == 0) before = atomicAdd(&links.progress->entered, 1u);
  if (__shfl_sync(0xffffffffu, before, 0) != 0) return;
  if (lane < links.count) publish(links.link[lane].there->free, exchange);
}

// By one thread of every block, whose stores the others of the block have joined.
template <class T>
__device__ __forceinline__ void say_stored(const Plan<T>& plan, int link, std::uint64_t exchange) {
  PeerProgress& progress = *plan.links.progress;
  __threadfence_system();
  if (atomicAdd(&progress.done_of[link], 1u) + 1 == plan.blocks_of[link]) {
    progress.done_of[link] = 0;
    __threadfence_system();
    publish(plan.links.link[link].there->stored, exchange);
  }
  if (atomicAdd(&progress.done, 1u) + 1 == gridDim.x) {  // nobody else looks at them in this launch
    progress.entered = progress.done = 0;
    progress.exchange = exchange;
  }
}

// --- cells
// ---------------------------------------------------------------------------------------------------

// The places of a box that one of many threads comes to, x fastest, with divisions only at its start.
class Walk {
 public:
  __device__ __forceinline__ Walk(Int3 extent, Index thread, Index threads)
      : extent_(extent), at_(split(thread)), step_(split(threads)) {}
  __device__ __forceinline__ bool ended() const { return at_.z >= extent_.z; }
  __device__ __forceinline__ Index offset(Index pitch_y, Index pitch_z) const {
    return at_.x + at_.y * pitch_y + at_.z * pitch_z;
  }
  __device__ __forceinline__ void next() {
    at_ = at_ + step_;
    if (at_.x >= extent_.x) {
      at_.x -= extent_.x;
      ++at_.y;
    }
    if (at_.y >= extent_.y) {
      at_.y -= extent_.y;
      ++at_.z;
    }
  }

 private:
  __device__ __forceinline__ Int3 split(Index place) const {
    const Index row = place / extent_.x;
    return {place - row * extent_.x, row % extent_.y, row / extent_.y};
  }
  Int3 extent_, at_, step_;
};

// Pitches and extent in units of U.
template <class U, class T>
__device__ __forceinline__ void copy_box(const PeerMessage<T>& m, Index first_x, Int3 extent, Index thread,
                                         Index threads) {
  if (extent.x == 0) return;
  constexpr Index unit = sizeof(U) / sizeof(T);
  const U* const from = reinterpret_cast<const U*>(m.from + first_x);
  U* const to = reinterpret_cast<U*>(m.to + first_x);
  for (Walk walk(extent, thread, threads); !walk.ended();) {
    U words[Policy::batch];
    Index there[Policy::batch];
#pragma unroll
    for (int i = 0; i < Policy::batch; ++i) {
      there[i] = -1;
      if (walk.ended()) continue;
      words[i] = from[walk.offset(m.from_pitch_y / unit, m.from_pitch_z / unit)];
      there[i] = walk.offset(m.to_pitch_y / unit, m.to_pitch_z / unit);
      walk.next();
    }
#pragma unroll
    for (int i = 0; i < Policy::batch; ++i) {
      if (there[i] >= 0) to[there[i]] = words[i];
    }
  }
}

// Do rows of both sides start at words?
template <class T>
ISOTHERM_HOST_DEVICE bool is_wide(const PeerMessage<T>& m) {
  const auto address = [](const T* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const auto bytes = [](Index pitch) { return static_cast<std::uintptr_t>(pitch) * sizeof(T); };
  return ((address(m.from) | address(m.to) | bytes(m.from_pitch_y) | bytes(m.from_pitch_z) |
           bytes(m.to_pitch_y) | bytes(m.to_pitch_z)) %
          sizeof(Word)) == 0;
}

template <class T>
__global__ void __launch_bounds__(Policy::threads) store_to_peers(const __grid_constant__ Plan<T> plan) {
  __shared__ bool is_free;
  int i = plan.messages.count - 1;
  while (blockIdx.x < plan.first_block[i]) --i;
  const PeerMessage<T>& m = plan.messages.message[i];
  const std::uint64_t exchange = plan.links.progress->exchange + 1;
  if (threadIdx.x < warp_size) say_free(plan.links, exchange);
  if (threadIdx.x == 0) {
    is_free = await(plan.links.link[m.link].here->free, exchange, *plan.links.abandoned);
  }
  __syncthreads();
  if (!is_free) return;

  const unsigned end = i + 1 < plan.messages.count ? plan.first_block[i + 1] : gridDim.x;
  const Index thread = Index{blockIdx.x - plan.first_block[i]} * Policy::threads + threadIdx.x;
  const Index threads = Index{end - plan.first_block[i]} * Policy::threads;
  constexpr Index word = sizeof(Word) / sizeof(T);
  const Index words = is_wide(m) ? m.extent.x / word : 0;
  copy_box<Word>(m, 0, {words, m.extent.y, m.extent.z}, thread, threads);
  copy_box<T>(m, words * word, {m.extent.x - words * word, m.extent.y, m.extent.z}, thread, threads);

  __syncthreads();
  if (threadIdx.x == 0) say_stored(plan, m.link, exchange);
}

__global__ void __launch_bounds__(warp_size) wait_for_peers(const __grid_constant__ PeerLinks links) {
  const int lane = threadIdx.x;
  if (lane < links.count) await(links.link[lane].here->stored, links.progress->exchange, *links.abandoned);
}
static_assert(most_peer_messages <= warp_size);

// --- launches
// ------------------------------------------------------------------------------------------------

// Blocks that keep all their threads busy with one batch.
template <class T>
Index blocks_wanted(const PeerMessage<T>& m) {
  const Index word = is_wide(m) ? sizeof(Word) / sizeof(T) : 1;
  return ceil_div(ceil_div(m.extent.x, word) * m.extent.y * m.extent.z, Policy::threads * Policy::batch);
}

template <class T>
void store(const PeerMessages<T>& messages, const PeerLinks& links, Stream stream) {
  Plan<T> plan{messages, links, {}, {}};
  Index wanted = 0;
  for (int i = 0; i < messages.count; ++i) wanted += blocks_wanted(messages.message[i]);
  unsigned blocks = 0;
  for (int i = 0; i < messages.count; ++i) {
    const PeerMessage<T>& m = messages.message[i];
    const Index share = blocks_wanted(m) * std::min(wanted, Policy::most_blocks) / wanted;
    const auto mine = static_cast<unsigned>(std::max<Index>(share, 1));
    plan.first_block[i] = blocks;
    plan.blocks_of[m.link] += mine;
    blocks += mine;
  }
  launch("store_to_peers", store_to_peers<T>, {blocks, Policy::threads}, stream, plan);
}

void wait(const PeerLinks& links, Stream stream) {
  launch("wait_for_peers", wait_for_peers, {1, warp_size}, stream, links);
}

}  // namespace

template <class T>
const PeerCopy<T>& peer_copy_cuda() {
  static constexpr PeerCopy<T> table{store<T>, wait};
  return table;
}

template const PeerCopy<float>& peer_copy_cuda<float>();
template const PeerCopy<double>& peer_copy_cuda<double>();

}  // namespace isotherm::cuda
