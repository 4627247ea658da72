// The threads of a block as fibers. ucontext creates them; the compiler's built-in setjmp and longjmp switch
// between them. These save three words, while the library's save and unwind more than a switch needs and
// swapcontext makes a system call. Blocks run one after another, so a block has the shared memory to itself.
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "cuda_runtime.h"

namespace emulation {

Thread current;

namespace {

// Not a power of two: otherwise the tops of all stacks would map to the same few cache sets.
constexpr std::size_t stack_bytes = (std::size_t{64} << 10) + (std::size_t{17} << 6);
constexpr std::size_t most_threads = 1024;  // of a block
constexpr unsigned warp_size = 32;

using Context = void* [5];

// Not inlined: a function may not jump to a setjmp of its own.
[[noreturn, gnu::noinline]] void jump_to(Context& context) { __builtin_longjmp(context, 1); }

// Opens when all expected threads have arrived; arrivals are a count or a mask. Waiting threads see the
// generation change.
struct Barrier {
  unsigned arrived = 0, generation = 0;
};

struct Warp {
  unsigned alive;   // mask of lanes that have not returned
  Barrier barrier;  // arrivals as a mask of lanes: to count bits at every shuffle would be slow
  unsigned mask;    // lanes that take part in the current barrier
  std::uint64_t slots[2][warp_size];  // of this barrier and of the previous one
};

struct BlockThread {
  unsigned number;  // number and index are the same in all blocks of a launch
  uint3 index;
  bool done;
  unsigned generation;
  const Barrier* waits_for;
};

std::vector<BlockThread> threads;  // of the block, in the order in which they run
// A fiber for each position in this order, created when a block first has so many threads; it runs one thread
// of each block. Where they resume, and their number:
Context contexts[most_threads];
std::ptrdiff_t fibers = 0;
std::vector<Warp> warps;
Barrier block;
unsigned block_alive = 0;
BlockThread* running = nullptr;
Context launcher;
const std::function<void()>* job = nullptr;
std::vector<std::max_align_t> dynamic_memory;

Warp& own_warp() { return warps[running->number / warp_size]; }

void open(Barrier& barrier) {
  barrier.arrived = 0;
  ++barrier.generation;
}

void open_block_if_complete() {
  if (block.arrived != 0 && block.arrived >= block_alive) open(block);
}

void open_warp_if_complete(Warp& warp) {
  if (warp.barrier.arrived != 0 && (warp.mask & warp.alive & ~warp.barrier.arrived) == 0) open(warp.barrier);
}

void retire(BlockThread& thread) {
  thread.done = true;
  --block_alive;
  Warp& warp = own_warp();
  warp.alive &= ~(1u << thread.number % warp_size);
  open_block_if_complete();
  open_warp_if_complete(warp);
}

// The next thread that can run; it may be the running one.
BlockThread& next_thread() {
  const auto can_run = [](const BlockThread& thread) {
    return !thread.done && (!thread.waits_for || thread.waits_for->generation != thread.generation);
  };
  auto next = std::find_if(threads.begin() + (running - threads.data() + 1), threads.end(), can_run);
  if (next == threads.end()) next = std::find_if(threads.begin(), threads.end(), can_run);
  if (next != threads.end()) return *next;
  std::fprintf(
      stderr,
      "emulation: %u of %zu threads of block (%u, %u, %u) wait at a barrier that the others never reach\n",
      block_alive, threads.size(), current.block.x, current.block.y, current.block.z);
  std::abort();
}

void live();

[[noreturn]] void resume(BlockThread& thread) {
  running = &thread;
  thread.waits_for = nullptr;
  current.thread = thread.index;
  const std::ptrdiff_t place = &thread - threads.data();
  if (place == fibers) {
    static char* const stacks = static_cast<char*>(std::aligned_alloc(64, most_threads * stack_bytes));
    char* const stack = stacks + static_cast<std::size_t>(fibers++) * stack_bytes;
    std::memset(stack, 0xff, stack_bytes);  // NaN for reads of uninitialised variables
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = stack;
    start.uc_stack.ss_size = stack_bytes;
    start.uc_link = nullptr;
    makecontext(&start, live, 0);
    setcontext(&start);
  }
  jump_to(contexts[place]);
}

[[noreturn]] void switch_to_next() {
  if (block_alive == 0) jump_to(launcher);
  resume(next_thread());
}

// The function of a fiber.
void live() {
  Context& own = contexts[fibers - 1];
  for (;;) {
    (*job)();
    retire(*running);
    if (__builtin_setjmp(own) == 0) switch_to_next();
  }
}

void wait(Barrier& barrier) {
  running->waits_for = &barrier;
  running->generation = barrier.generation;
  yield();
}

// Numbers the threads of a launch in the order in which each block runs them.
void number_threads(dim3 block_dim, bool reverse) {
  const unsigned count = block_dim.x * block_dim.y * block_dim.z;
  threads.assign(count, {});
  warps.resize((count + warp_size - 1) / warp_size);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned number = reverse ? count - 1 - i : i, row = number / block_dim.x;
    threads[i].number = number;
    threads[i].index = {number % block_dim.x, row % block_dim.y, row / block_dim.y};
  }
}

void run_block() {
  block = {};
  block_alive = static_cast<unsigned>(threads.size());
  for (BlockThread& thread : threads) thread.done = false;
  unsigned left = block_alive;
  for (Warp& warp : warps) {
    const unsigned lanes = std::min(left, warp_size);
    warp.alive = ~0u >> (warp_size - lanes);
    warp.barrier = {};
    left -= lanes;
  }
  if (__builtin_setjmp(launcher) == 0) resume(threads.front());
}

}  // namespace

void run_grid(dim3 grid, dim3 block_dim, std::size_t shared_bytes, const std::function<void()>& body) {
  static const char* const order = std::getenv("EMULATION_ORDER");
  static const bool reverse = order && std::string_view(order) == "reverse";
  number_threads(block_dim, reverse);
  dynamic_memory.assign(shared_bytes / sizeof(std::max_align_t) + 64, {});
  job = &body;
  current.grid_dim = grid;
  current.block_dim = block_dim;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        current.block = {x, y, z};
        run_block();
      }
    }
  }
}

// Aligned to 1024 bytes, as TMA copies require.
void* dynamic_shared_memory() {
  const auto address = reinterpret_cast<std::uintptr_t>(dynamic_memory.data());
  return reinterpret_cast<void*>((address + 1023) / 1024 * 1024);
}

void block_barrier() {
  ++block.arrived;
  const unsigned generation = block.generation;
  open_block_if_complete();
  if (block.generation == generation) wait(block);
}

void warp_barrier(unsigned mask) {
  Warp& warp = own_warp();
  warp.mask = mask;
  warp.barrier.arrived |= 1u << running->number % warp_size;
  const unsigned generation = warp.barrier.generation;
  open_warp_if_complete(warp);
  if (warp.barrier.generation == generation) wait(warp.barrier);
}

void yield() {
  if (__builtin_setjmp(contexts[running - threads.data()]) == 0) switch_to_next();
}

std::uint64_t exchange(unsigned mask, std::uint64_t mine, int from) {
  Warp& warp = own_warp();
  std::uint64_t* const slots = warp.slots[warp.barrier.generation % 2];
  slots[running->number % warp_size] = mine;
  warp_barrier(mask);
  const bool takes_part = from >= 0 && from < static_cast<int>(warp_size) && (mask >> from & 1) != 0;
  return takes_part ? slots[from] : mine;
}

int lane() { return static_cast<int>(running->number % warp_size); }

}  // namespace emulation
