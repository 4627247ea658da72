// Memory of a device that other processes open, and theirs that this one opens: CUDA IPC.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/cuda_native.hpp"

namespace isotherm {

// Of the whole allocation that begins there. Throws Error(unavailable), as open() does.
cudaIpcMemHandle_t handle_of(void* memory);

// A peer's allocation as this process sees it; closed with its last owner. Opening one twice is an error of
// older runtimes, so who asks again gets the same.
class OpenMemory {
 public:
  explicit OpenMemory(int device) : device_(device) {}
  std::shared_ptr<std::byte> open(int peer, const cudaIpcMemHandle_t& handle);

 private:
  int device_;
  std::map<std::pair<int, std::string>, std::weak_ptr<std::byte>> open_;
};

}  // namespace isotherm
