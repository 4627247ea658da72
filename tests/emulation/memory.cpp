// The memory of the emulated device: files without a name, so that other processes can map them too.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "cuda_runtime_api.h"

namespace {

using emulation::result;

constexpr std::size_t alignment = 256;

// Pages of a file and behind them one that faults. What is used lies at their end. The file has one page
// more, where those count that have opened it.
struct Mapping {
  char* base = nullptr;
  std::size_t pages = 0;  // bytes without the guard page
  std::size_t usable = 0;
  int file = -1;  // where this process has allocated it
  std::uint64_t serial = 0;
  pid_t process = 0;  // where another has
  std::atomic<int>* openers = nullptr;

  void* data() const { return base + pages - usable; }
};
std::map<void*, Mapping> allocated, opened, pinned;
std::size_t used_memory = 0;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}
std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool map_file(Mapping& mapping, int file) {
  const std::size_t page = page_bytes();
  const int access = PROT_READ | PROT_WRITE;
  void* const count = mmap(nullptr, page, access, MAP_SHARED, file, static_cast<off_t>(mapping.pages));
  void* const base = mmap(nullptr, mapping.pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (count == MAP_FAILED || base == MAP_FAILED) return false;
  mapping.openers = static_cast<std::atomic<int>*>(count);
  mapping.base = static_cast<char*>(base);
  return mapping.pages == 0 || mmap(base, mapping.pages, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file,
                                    0) != MAP_FAILED;  // all pages at once: most live shortly
}
void unmap(const Mapping& mapping) {
  munmap(mapping.openers, page_bytes());
  munmap(mapping.base, mapping.pages + page_bytes());
  if (mapping.file >= 0) close(mapping.file);
}

std::string file_name(std::uint64_t serial) {
  return "emulated-device-memory-" + std::to_string(serial);
}
bool is_file(const std::string& path, std::uint64_t serial) {
  char name[128] = "";
  return readlink(path.c_str(), name, sizeof(name) - 1) > 0 &&
         name == "/memfd:" + file_name(serial) + " (deleted)";
}

// What a handle tells another process.
struct Handle {
  pid_t process;
  int file;
  std::uint64_t serial;
  std::size_t pages, usable;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));

bool lies_in(const std::map<void*, Mapping>& mappings, const void* pointer) {
  auto after = mappings.upper_bound(const_cast<void*>(pointer));
  if (after == mappings.begin()) return false;
  const auto& [start, mapping] = *--after;
  return static_cast<const char*>(pointer) < static_cast<char*>(start) + mapping.usable;
}
// Memory that the device knows; copies from and to any other are done when the call returns.
bool is_known(const void* pointer) {
  return lies_in(allocated, pointer) || lies_in(opened, pointer) || lies_in(pinned, pointer);
}

}  // namespace

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = emulation::total_memory - used_memory;
  *total = emulation::total_memory;
  return cudaSuccess;
}

// Filled with bytes that make NaN of any number.
cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (emulation::is_capturing()) return result(cudaErrorStreamCaptureUnsupported);
  if (bytes > emulation::total_memory - used_memory) return result(cudaErrorMemoryAllocation);
  static std::uint64_t serial = 0;
  Mapping mapping;
  mapping.usable = round_up(bytes, alignment);
  mapping.pages = round_up(mapping.usable, page_bytes());
  mapping.serial = ++serial;
  mapping.file = memfd_create(file_name(serial).c_str(), MFD_CLOEXEC);
  if (mapping.file < 0 || ftruncate(mapping.file, static_cast<off_t>(mapping.pages + page_bytes())) != 0 ||
      !map_file(mapping, mapping.file)) {
    return result(cudaErrorMemoryAllocation);
  }
  *pointer = mapping.data();
  std::memset(*pointer, 0xff, mapping.usable);
  allocated[*pointer] = mapping;
  used_memory += mapping.pages;
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (emulation::is_capturing()) return result(cudaErrorStreamCaptureUnsupported);
  const auto found = allocated.find(pointer);
  if (found == allocated.end()) return result(cudaErrorInvalidValue);
  emulation::finish();
  if (*found->second.openers != 0) {
    std::fprintf(stderr, "emulation: memory is freed that another process has still open\n");
    std::abort();
  }
  unmap(found->second);
  used_memory -= found->second.pages;
  allocated.erase(found);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  if (emulation::is_capturing()) return result(cudaErrorStreamCaptureUnsupported);
  Mapping mapping;
  mapping.usable = round_up(bytes, alignment);
  *pointer = std::aligned_alloc(alignment, mapping.usable);
  if (!*pointer) return result(cudaErrorMemoryAllocation);
  pinned[*pointer] = mapping;
  return cudaSuccess;
}
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) {
  if (emulation::is_capturing()) return result(cudaErrorStreamCaptureUnsupported);
  emulation::finish();
  pinned.erase(pointer);
  std::free(pointer);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  emulation::queue(stream, [=] { std::memmove(to, from, bytes); });
  if (!is_known(to) || !is_known(from)) emulation::finish();
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  emulation::queue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  const auto found = allocated.find(pointer);  // the start of an allocation, nothing else
  if (found == allocated.end()) return result(cudaErrorInvalidValue);
  const Mapping& mapping = found->second;
  const Handle mine{getpid(), mapping.file, mapping.serial, mapping.pages, mapping.usable};
  *handle = {};
  std::memcpy(handle->reserved, &mine, sizeof(mine));
  return cudaSuccess;
}
// As strict as the oldest runtimes: not by the process whose memory it is, and only once.
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  if (flags != cudaIpcMemLazyEnablePeerAccess) return result(cudaErrorInvalidValue);
  Handle theirs;
  std::memcpy(&theirs, handle.reserved, sizeof(theirs));
  if (theirs.process == getpid()) return result(cudaErrorInvalidContext);
  for (const auto& [start, mapping] : opened) {
    const bool same = mapping.serial == theirs.serial && mapping.process == theirs.process;
    if (same) return result(cudaErrorAlreadyMapped);
  }
  const std::string path = "/proc/" + std::to_string(theirs.process) + "/fd/" + std::to_string(theirs.file);
  if (!is_file(path, theirs.serial)) return result(cudaErrorMapBufferObjectFailed);  // freed
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  Mapping mapping{nullptr, theirs.pages, theirs.usable, -1, theirs.serial, theirs.process, nullptr};
  const bool mapped = file >= 0 && map_file(mapping, file);
  if (file >= 0) close(file);
  if (!mapped) return result(cudaErrorMapBufferObjectFailed);
  ++*mapping.openers;
  *pointer = mapping.data();
  opened[*pointer] = mapping;
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  const auto found = opened.find(pointer);
  if (found == opened.end()) return result(cudaErrorInvalidValue);
  emulation::finish();
  --*found->second.openers;
  unmap(found->second);
  opened.erase(found);
  return cudaSuccess;
}
