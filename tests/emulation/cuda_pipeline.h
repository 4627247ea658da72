// Stands in for CUDA's pipeline primitives. Copies are executed as late as possible, when the thread waits
// for their group: a read before the wait returns the old values.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "cuda_runtime.h"

namespace emulation {

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};
// Copy groups of the current thread, the oldest first; the last one is open.
inline std::deque<std::vector<Copy>>& copy_groups() {
  static std::map<unsigned, std::deque<std::vector<Copy>>> of_thread;
  const uint3 t = current.thread;
  auto& groups = of_thread[t.x + current.block_dim.x * (t.y + current.block_dim.y * t.z)];
  if (groups.empty()) groups.emplace_back();
  return groups;
}

}  // namespace emulation

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  const auto both = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || both % bytes != 0) __builtin_trap();
  emulation::copy_groups().back().push_back({to, from, bytes});
}
inline void __pipeline_commit() { emulation::copy_groups().emplace_back(); }
// Waits until at most the last `prior` groups are pending.
inline void __pipeline_wait_prior(std::size_t prior) {
  auto& groups = emulation::copy_groups();
  for (; groups.size() > prior + 1; groups.pop_front()) {
    for (const emulation::Copy& copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
  }
}
