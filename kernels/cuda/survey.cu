// The survey of a field on the GPU: extremes and exact sums of its cells, and of the jumps across its walls.
//
// Algebra   a Part (Extremes, ExactSum) gathers values; parts join in any order to the same bits.
// Mapping   the values are numbered; threads take them in grid strides, neighbouring threads neighbouring
//           numbers, so reads are coalesced within a row. A tree in shared memory joins a block, one part a
//           block goes to memory, and a second kernel of one block joins these.
// Lives in  registers: a thread's part, 24 bytes. Shared memory: one part a thread, 6 KB a block.
// Traffic   one read of 4 (8) bytes a cell, and two divisions by multiplication to find its place.
#include "kernels/cuda/fast_divide.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

struct Policy {
  static constexpr int threads = 256;
  static constexpr Index most_blocks = 1024;
};

// A cell's number, x fastest, to its value.
template <class T>
struct CellValues {
  FieldView<const T> field;
  FastDivide by_x, by_y;

  explicit CellValues(const FieldView<const T>& view)
      : field(view), by_x(view.extent.x), by_y(view.extent.y) {}
  Index count() const { return field.extent.product(); }
  __device__ __forceinline__ double operator()(Index number) const {
    const Index row = by_x(number), z = by_y(row);
    return static_cast<double>(field(number - row * field.extent.x, row - z * field.extent.y, z));
  }
};

template <class T>
struct JumpValues {
  WallJump<T> jump;
  FastDivide by_p;

  explicit JumpValues(const WallJump<T>& wall_jump) : jump(wall_jump), by_p(wall_jump.extent_p()) {}
  Index count() const { return jump.extent_p() * jump.extent_q(); }
  __device__ __forceinline__ double operator()(Index number) const {
    const Index q = by_p(number);
    return jump(number - q * jump.extent_p(), q);
  }
};

// The join of all threads' parts, written by thread 0.
template <class Part>
__device__ __forceinline__ void join_block(const Part& mine, Part* result) {
  __shared__ Part parts[Policy::threads];
  const int thread = static_cast<int>(threadIdx.x);
  parts[thread] = mine;
  __syncthreads();
  for (int half = Policy::threads / 2; half > 0; half /= 2) {
    if (thread < half) parts[thread].join(parts[thread + half]);
    __syncthreads();
  }
  if (thread == 0) *result = parts[0];
}

template <class Part, class Values>
__global__ void __launch_bounds__(Policy::threads)
    gather_values(Values values, Index count, double scale, Part* parts) {
  Part mine = Part::none();
  const Index stride = Index{gridDim.x} * Policy::threads;
  for (Index i = Index{blockIdx.x} * Policy::threads + threadIdx.x; i < count; i += stride) {
    mine.add(values(i) * scale);
  }
  join_block(mine, &parts[blockIdx.x]);
}

template <class Part>
__global__ void __launch_bounds__(Policy::threads) join_parts(const Part* parts, Index count, Part* result) {
  Part mine = Part::none();
  for (Index i = threadIdx.x; i < count; i += Policy::threads) mine.join(parts[i]);
  join_block(mine, result);
}

template <class Part, class Values>
void gather(const Values& values, double scale, Part* result, void* scratch, Stream stream) {
  const Index count = values.count(),
              blocks = std::min(ceil_div(count, Policy::threads), Policy::most_blocks);
  Part* const parts = static_cast<Part*>(scratch);
  if (blocks > 0) {
    launch("survey: gather_values", gather_values<Part, Values>,
           {static_cast<unsigned>(blocks), Policy::threads}, stream, values, count, scale, parts);
  }
  launch("survey: join_parts", join_parts<Part>, {1, Policy::threads}, stream, parts, blocks, result);
}

template <class T>
void extremes(FieldView<const T> field, Extremes* result, void* scratch, Stream stream) {
  gather(CellValues<T>(field), 1.0, result, scratch, stream);
}
template <class T>
void sum(FieldView<const T> field, double scale, ExactSum* result, void* scratch, Stream stream) {
  gather(CellValues<T>(field), scale, result, scratch, stream);
}
template <class T>
void jump_extremes(const WallJump<T>& jump, Extremes* result, void* scratch, Stream stream) {
  gather(JumpValues<T>(jump), 1.0, result, scratch, stream);
}
template <class T>
void jump_sum(const WallJump<T>& jump, double scale, ExactSum* result, void* scratch, Stream stream) {
  gather(JumpValues<T>(jump), scale, result, scratch, stream);
}

constexpr std::size_t scratch_bytes = Policy::most_blocks * std::max(sizeof(Extremes), sizeof(ExactSum));

}  // namespace

template <class T>
const FieldSurvey<T>& field_survey_cuda() {
  static constexpr FieldSurvey<T> table{extremes<T>, sum<T>, jump_extremes<T>, jump_sum<T>, scratch_bytes};
  return table;
}

template const FieldSurvey<float>& field_survey_cuda<float>();
template const FieldSurvey<double>& field_survey_cuda<double>();

}  // namespace isotherm::cuda
