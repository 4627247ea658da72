// Compute capability 9.0: barriers in shared memory that count bytes, and bulk tensor copies (TMA) that
// complete on them (PTX ISA, "mbarrier" and "cp.async.bulk.tensor"; CUDA Driver API, cuTensorMapEncodeTiled),
// by cuda::ptx of libcu++ where it has them. For .cu files only. Do not call these on older devices.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cuda/ptx>
#include <nv/target>

#include <cstdint>

#include "core/field_view.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

namespace ptx = ::cuda::ptx;

// Describes a padded subdomain, all ghosts included, to the TMA in boxes of `box` cells. Cells of a box
// outside it are filled with zeros. Rows begin `lead_x` cells before the subdomain, the ghosts rounded up to
// 16 bytes, so that every row of a box has the alignment that the TMA requires.
template <class T>
struct TensorMap {
  CUtensorMap map;
  int lead_x, ghosts;

  static TensorMap make(FieldView<const T> field, Int3 box);
};

template <class T>
TensorMap<T> TensorMap<T>::make(FieldView<const T> field, Int3 box) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    check(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess) {
      throw Error(
          ExitCode::unavailable,
          "the NVIDIA driver has no cuTensorMapEncodeTiled (it came with CUDA 12); update the driver, "
          "or use another solver.kernel");
    }
    return reinterpret_cast<Encode>(entry);
  }();
  constexpr int word = 16 / sizeof(T);
  const int ghosts = field.ghosts, lead_x = (ghosts + word - 1) / word * word;
  TensorMap result{{}, lead_x, ghosts};
  const Index row = lead_x + field.extent.x + ghosts;  // FieldLayout leaves room for it
  if (row > field.pitch_y) throw Error(ExitCode::internal, "a field's rows are too short for bulk copies");
  const cuuint64_t cells[3] = {static_cast<cuuint64_t>(row),
                               static_cast<cuuint64_t>(field.extent.y + 2 * ghosts),
                               static_cast<cuuint64_t>(field.extent.z + 2 * ghosts)};
  const cuuint64_t strides[2] = {field.pitch_y * sizeof(T), field.pitch_z * sizeof(T)};  // bytes
  const cuuint32_t box_cells[3] = {static_cast<cuuint32_t>(box.x), static_cast<cuuint32_t>(box.y),
                                   static_cast<cuuint32_t>(box.z)};
  const cuuint32_t steps[3] = {1, 1, 1};
  constexpr CUtensorMapDataType type = sizeof(T) == 8   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
                                       : sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                                        : CU_TENSOR_MAP_DATA_TYPE_UINT8;
  const CUresult code =
      encode(&result.map, type, 3, const_cast<T*>(&field(-lead_x, -ghosts, -ghosts)), cells, strides,
             box_cells, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) {
    throw Error(ExitCode::internal, "cuTensorMapEncodeTiled failed (error " + std::to_string(code) +
                                        "); use another solver.kernel, and please report it");
  }
  return result;
}

// Also compiled for older devices, where it is never executed.
#define ISOTHERM_SM90(...) NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (__VA_ARGS__;), (__trap();))

// A barrier in shared memory. One thread arrives and sets the number of expected bytes. The barrier opens
// once these have arrived. It alternates between two phases.
class BytesBarrier {
 public:
  // Called by one thread, which calls publish() next; then __syncthreads() by all.
  __device__ __forceinline__ void init() { ISOTHERM_SM90(ptx::mbarrier_init(&state_, 1)); }
  __device__ __forceinline__ static void publish() {
    ISOTHERM_SM90(ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster));
  }
  __device__ __forceinline__ void expect(std::uint32_t bytes) {
    ISOTHERM_SM90(
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &state_, bytes));
  }
  // Waits until the phase of that parity is complete. One asm statement: with cuda::ptx's
  // mbarrier_try_wait_parity, whose result is a value, the compiler unrolls less.
  __device__ __forceinline__ void wait(std::uint32_t parity) {
    ISOTHERM_SM90(
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "again:\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra again;\n"
                     "}\n" ::"r"(address()),
                     "r"(parity)
                     : "memory"));
  }
  // Copies the box at cell (x, y, z) of the field to shared memory, aligned to 128 bytes. Called by one
  // thread, after expect(). L2 evicts these lines last, because neighbouring blocks read the edges a little
  // later. Written in PTX, because cuda::ptx has no copy with this policy.
  template <class T>
  __device__ __forceinline__ void copy(const TensorMap<T>& map, void* to, int x, int y, int z) {
    ISOTHERM_SM90(asm volatile(
        "{\n"
        ".reg .b64 keep;\n"
        "createpolicy.fractional.L2::evict_last.b64 keep, 1.0;\n"
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1, {%3, %4, %5}], [%2], keep;\n"
        "}\n" ::"r"(shared_address(to)),
        "l"(&map.map), "r"(address()), "r"(x + map.lead_x), "r"(y + map.ghosts), "r"(z + map.ghosts)
        : "memory"));
  }

  // `bytes` and both addresses are multiples of 16.
  __device__ __forceinline__ void copy_line(const void* from, void* to, std::uint32_t bytes) {
    ISOTHERM_SM90(ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, bytes, &state_));
  }

 private:
  __device__ __forceinline__ static std::uint32_t shared_address(const void* at) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  }
  __device__ __forceinline__ std::uint32_t address() const { return shared_address(&state_); }

  std::uint64_t state_;
};

// Makes data seen by this thread's loads visible to its later bulk copies, which use another proxy.
__device__ __forceinline__ void bulk_copies_see_loads() {
  ISOTHERM_SM90(ptx::fence_proxy_async(ptx::space_global));
}

// The dynamic shared memory of the block, aligned to 128 bytes.
__device__ __forceinline__ unsigned char* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char memory[];
  return memory;
}

// Why the current device cannot run `kernel`, which uses bulk copies and `shared_bytes` of shared memory per
// block. Empty: it can.
template <class Kernel>
std::string without_bulk_copies(Kernel* kernel, std::size_t shared_bytes) {
  if (attribute_of_current_device(cudaDevAttrComputeCapabilityMajor) < 9)
    return "it needs compute capability 9.0, and this device has " + compute_capability();
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  if (attributes.ptxVersion < 90) return "this build was made for older devices; configure it for this one";
  return without_shared_memory(shared_bytes);
}

}  // namespace isotherm::cuda
