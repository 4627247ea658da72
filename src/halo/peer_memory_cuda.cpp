#include "halo/peer_memory_cuda.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace isotherm {
namespace {

void check_ipc(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  throw Error(ExitCode::unavailable, fmt::format("{} failed ({})", call, cuda::error_text(code)));
}

}  // namespace

cudaIpcMemHandle_t handle_of(void* memory) {
  cudaIpcMemHandle_t handle{};
  check_ipc(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
  return handle;
}

std::shared_ptr<std::byte> OpenMemory::open(int peer, const cudaIpcMemHandle_t& handle) {
  std::weak_ptr<std::byte>& known = open_[{peer, std::string(handle.reserved, sizeof(handle.reserved))}];
  if (std::shared_ptr<std::byte> memory = known.lock()) return memory;
  check_ipc(cudaSetDevice(device_), "cudaSetDevice");
  void* pointer = nullptr;
  check_ipc(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  const auto close = [device = device_](std::byte* memory) {
    const bool closed = cudaSetDevice(device) == cudaSuccess && cudaIpcCloseMemHandle(memory) == cudaSuccess;
    if (!closed) cudaGetLastError();
  };
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(pointer), close);
  known = memory;
  return memory;
}

}  // namespace isotherm
