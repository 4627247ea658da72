// Memory of a device that other processes open, and theirs that this one opens: CUDA IPC.
#pragma once

#include <cstddef>
#include <memory>

#include "core/cuda_native.hpp"

namespace isotherm {

// Of the whole allocation that begins there. Throws Error(unavailable), as open_peer_memory() does.
cudaIpcMemHandle_t handle_of(void* memory);

// A peer's allocation as this process sees it from the device; closed with its last owner. Opening one twice
// is an error of older runtimes, and a transport that was given up keeps what it has open: so whoever asks
// again, in the whole process, gets the same.
std::shared_ptr<std::byte> open_peer_memory(int device, const cudaIpcMemHandle_t& handle);

}  // namespace isotherm
