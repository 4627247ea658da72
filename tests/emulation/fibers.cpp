// The threads of a block as fibers. ucontext makes them, setjmp and longjmp switch between them (without the
// system calls of swapcontext). Blocks run one after another: a block has the shared memory to itself.
#include <ucontext.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "cuda_runtime.h"

namespace emulation {

Thread current;

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;
constexpr unsigned warp_size = 32;

// Opens when all that are expected have arrived; those who wait see the generation change.
struct Barrier {
  unsigned arrived = 0, generation = 0;
};

struct Warp {
  unsigned alive = 0;  // mask of lanes that have not returned
  Barrier barrier;
  unsigned mask = 0;  // who takes part in the barrier under way
  std::uint64_t slots[2][warp_size] = {};
};

struct Fiber {
  std::jmp_buf context;
  ucontext_t start;
  std::unique_ptr<char[]> stack;
  bool started = false, done = true;
  unsigned number = 0, turn = 0;  // turn: which of the two sets of slots
  uint3 thread{};
  const Barrier* waits_for = nullptr;
  unsigned generation = 0;
};

std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Warp> warps;
Barrier block;
unsigned block_alive = 0;
Fiber* running = nullptr;
std::jmp_buf scheduler;
const std::function<void()>* job = nullptr;
std::vector<std::max_align_t> dynamic_memory;

Warp& own_warp() {
  return warps[running->number / warp_size];
}

void open_if_complete(Barrier& barrier, unsigned expected) {
  if (barrier.arrived == 0 || barrier.arrived < expected) return;
  barrier.arrived = 0;
  ++barrier.generation;
}

unsigned expected_of(const Warp& warp) {
  return static_cast<unsigned>(__builtin_popcount(warp.mask & warp.alive));
}

void to_scheduler() {
  if (_setjmp(running->context) == 0) _longjmp(scheduler, 1);
}

void wait(Barrier& barrier) {
  running->waits_for = &barrier;
  running->generation = barrier.generation;
  to_scheduler();
}

// A fiber lives for all launches: it takes one job after another.
void live() {
  for (;;) {
    (*job)();
    running->done = true;
    --block_alive;
    Warp& warp = own_warp();
    warp.alive &= ~(1u << running->number % warp_size);
    open_if_complete(block, block_alive);
    open_if_complete(warp.barrier, expected_of(warp));
    to_scheduler();
  }
}

void resume(Fiber& fiber) {
  running = &fiber;
  fiber.waits_for = nullptr;
  current.thread = fiber.thread;
  if (_setjmp(scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.context, 1);
  fiber.started = true;
  fiber.stack = std::make_unique<char[]>(stack_bytes);
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = fiber.stack.get();
  fiber.start.uc_stack.ss_size = stack_bytes;
  fiber.start.uc_link = nullptr;
  makecontext(&fiber.start, live, 0);
  setcontext(&fiber.start);
}

bool can_run(const Fiber& fiber) {
  return !fiber.done && (!fiber.waits_for || fiber.waits_for->generation != fiber.generation);
}

[[noreturn]] void deadlock(unsigned threads) {
  std::fprintf(
      stderr,
      "emulation: %u of %u threads of block (%u, %u, %u) wait at a barrier that the others never reach\n",
      block_alive, threads, current.block.x, current.block.y, current.block.z);
  std::abort();
}

void run_block(unsigned threads, bool reverse) {
  block = {};
  block_alive = threads;
  warps.assign((threads + warp_size - 1) / warp_size, {});
  for (unsigned i = 0; i < threads; ++i) {
    Fiber& fiber = *fibers[i];
    fiber.done = false;
    fiber.waits_for = nullptr;
    fiber.number = i;
    fiber.turn = 0;
    const unsigned row = i / current.block_dim.x;
    fiber.thread = {i % current.block_dim.x, row % current.block_dim.y, row / current.block_dim.y};
    warps[i / warp_size].alive |= 1u << i % warp_size;
  }
  while (block_alive > 0) {
    bool progress = false;
    for (unsigned n = 0; n < threads; ++n) {
      Fiber& fiber = *fibers[reverse ? threads - 1 - n : n];
      if (!can_run(fiber)) continue;
      progress = true;
      resume(fiber);
    }
    if (!progress) deadlock(threads);
  }
}

}  // namespace

void run_grid(dim3 grid, dim3 block_dim, std::size_t shared_bytes, const std::function<void()>& body) {
  static const char* const order = std::getenv("EMULATION_ORDER");
  static const bool reverse = order && std::string_view(order) == "reverse";
  const unsigned threads = block_dim.x * block_dim.y * block_dim.z;
  while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
  dynamic_memory.assign(shared_bytes / sizeof(std::max_align_t) + 64, {});
  job = &body;
  current.grid_dim = grid;
  current.block_dim = block_dim;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        current.block = {x, y, z};
        run_block(threads, reverse);
      }
    }
  }
}

// Aligned to 1024 bytes, as bulk copies like it.
void* dynamic_shared_memory() {
  const auto address = reinterpret_cast<std::uintptr_t>(dynamic_memory.data());
  return reinterpret_cast<void*>((address + 1023) / 1024 * 1024);
}

void block_barrier() {
  ++block.arrived;
  const unsigned generation = block.generation;
  open_if_complete(block, block_alive);
  if (block.generation == generation) wait(block);
}

void warp_barrier(unsigned mask) {
  Warp& warp = own_warp();
  warp.mask = mask;
  ++warp.barrier.arrived;
  const unsigned generation = warp.barrier.generation;
  open_if_complete(warp.barrier, expected_of(warp));
  if (warp.barrier.generation == generation) wait(warp.barrier);
}

void yield() {
  to_scheduler();
}

std::uint64_t exchange(unsigned mask, std::uint64_t mine, int from) {
  auto& slots = own_warp().slots[running->turn++ % 2];
  slots[running->number % warp_size] = mine;
  warp_barrier(mask);
  const bool takes_part = from >= 0 && from < static_cast<int>(warp_size) && (mask >> from & 1) != 0;
  return takes_part ? slots[from] : mine;
}

int lane() {
  return static_cast<int>(running->number % warp_size);
}

unsigned warp_ballot(unsigned mask, bool vote) {
  unsigned votes = 0;
  for (unsigned from = 0; from < warp_size; ++from) {
    if ((mask >> from & 1) == 0) continue;
    const bool theirs = exchange(mask, vote ? 1 : 0, static_cast<int>(from)) != 0;
    const bool alive = (own_warp().alive >> from & 1) != 0;
    votes |= theirs && alive ? 1u << from : 0u;
  }
  return votes;
}

}  // namespace emulation
