#include "halo/peer_memory_cuda.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

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

std::shared_ptr<std::byte> open_peer_memory(int device, const cudaIpcMemHandle_t& handle) {
  static std::map<std::pair<int, std::string>, std::weak_ptr<std::byte>> open;
  std::erase_if(open, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<std::byte>& known = open[{device, std::string(handle.reserved, sizeof(handle.reserved))}];
  if (std::shared_ptr<std::byte> memory = known.lock()) return memory;
  check_ipc(cudaSetDevice(device), "cudaSetDevice");
  void* pointer = nullptr;
  check_ipc(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  const auto close = [device](std::byte* memory) {
    const bool closed = cudaSetDevice(device) == cudaSuccess && cudaIpcCloseMemHandle(memory) == cudaSuccess;
    if (!closed) cudaGetLastError();
  };
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(pointer), close);
  known = memory;
  return memory;
}

}  // namespace isotherm
