// Evaluates formulas at the points of a box on the GPU.
//
// Mapping   a warp takes 32 points along x of eight rows (of four, where the stack is deep). A lane takes one
//           point of each row: the points share the cost of decoding a step. Thread blocks cover x, the rows,
//           and the planes of all times.
// Storage   registers: the top of each point's stack. Shared memory: the values below the top.
#include "kernels/cuda/hopper.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/formula_functions.hpp"

namespace isotherm::cuda {
namespace {

constexpr int most_warps = 8;
constexpr int shallow = 12;  // deepest stack for which a warp takes eight rows

template <int points>  // of a lane
class Machine {
 public:
  __device__ __forceinline__ Machine(double* stack, int threads) : below_(stack), threads_(threads) {}

  double x, y[points], z, t;
  const double* of_time;
  const double* const* of_place;
  Index place, place_pitch, last_row;  // `place`: of the first row's point
  double top[points] = {};

  __device__ __forceinline__ void run(const FormulaStep* steps, Index count) {
    for (step_ = steps; step_ < steps + count; ++step_) {
      const FormulaStep step = *step_;
      number_ = step.number;
      variable_ = step.op == FormulaOp::number ? variable_count : step.variable;
      take_step(step.op, *this);
      if (step.op == FormulaOp::table) step_ += steps_of_knots(step);
    }
  }
  __device__ __forceinline__ const FormulaStep* step() const { return step_; }

  __device__ __forceinline__ void value() {
    const double same = variable_ == 0                ? x
                        : variable_ == 2              ? z
                        : variable_ == time_variable  ? t
                        : variable_ == variable_count ? number_
                        : variable_ < first_of_place  ? of_time[variable_ - first_of_time]
                                                      : 0;
#pragma unroll
    for (int i = 0; i < points; ++i) {
      below_[i * threads_] = top[i];
      top[i] = variable_ == 1 ? y[i] : same;
    }
    below_ += points * threads_;
    if (variable_ < first_of_place || variable_ == variable_count) return;
    const double* const values = of_place[variable_ - first_of_place] + place;
#pragma unroll
    for (int i = 0; i < points; ++i) top[i] = values[min(Index{i}, last_row) * place_pitch];
  }
  template <class F>
  __device__ __forceinline__ void unary(F f) {
#pragma unroll
    for (int i = 0; i < points; ++i) top[i] = f(top[i]);
  }
  template <class F>
  __device__ __forceinline__ void binary(F f) {
    below_ -= points * threads_;
#pragma unroll
    for (int i = 0; i < points; ++i) top[i] = f(below_[i * threads_], top[i]);
  }
  template <class F>
  __device__ __forceinline__ void ternary(F f) {
    below_ -= 2 * points * threads_;
#pragma unroll
    for (int i = 0; i < points; ++i)
      top[i] = f(below_[i * threads_], below_[(points + i) * threads_], top[i]);
  }

 private:
  double* below_;  // end of the values below the top
  const int threads_;
  const FormulaStep* step_ = nullptr;
  double number_;
  int variable_;
};

template <class T, int points>
__global__ void __launch_bounds__(most_warps* warp_size)
    evaluate_points(const __grid_constant__ FormulaGrid<T> grid, Int3 first) {
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  const auto last = [](Index i, Index count) { return min(i, count - 1); };
  const Index x = first.x + Index{blockIdx.x} * blockDim.x + threadIdx.x;
  const Index y = first.y + (Index{blockIdx.y} * blockDim.y + threadIdx.y) * points;
  const Index plane = first.z + blockIdx.z, z = plane % grid.points.z;
  const auto n = static_cast<int>(plane / grid.points.z);
  Machine<points> machine(
      reinterpret_cast<double*>(dynamic_shared()) + threadIdx.x + threadIdx.y * blockDim.x, threads);
  machine.x = grid.at[0][last(x, grid.points.x)];
#pragma unroll
  for (int i = 0; i < points; ++i) machine.y[i] = grid.at[1][last(y + i, grid.points.y)];
  machine.z = grid.at[2][z];
  machine.t = grid.time[n];
  machine.of_time = grid.of_time[n];
  machine.of_place = grid.of_place;
  machine.place_pitch = grid.place_pitch_y;
  machine.place =
      last(x, grid.points.x) + last(y, grid.points.y) * grid.place_pitch_y + z * grid.place_pitch_z;
  machine.last_row = max(grid.points.y - 1 - y, Index{0});
  machine.run(grid.steps, grid.step_count);
  if (x >= grid.points.x) return;
#pragma unroll
  for (int i = 0; i < points; ++i) {
    if (y + i >= grid.points.y) return;
    const T value = static_cast<T>(grid.scale * machine.top[i]);
    grid.values[x + (y + i) * grid.pitch_y + z * grid.pitch_z + n * grid.pitch_time] = value;
    if (!is_sound(value, grid.lowest))
      atomicMin(reinterpret_cast<unsigned long long*>(grid.unsound),
                static_cast<unsigned long long>(__double_as_longlong(machine.t)));
  }
}

template <class T, int points>
void evaluate_rows(const FormulaGrid<T>& grid, Stream stream) {
  constexpr auto kernel = evaluate_points<T, points>;
  const std::size_t warp_bytes = static_cast<std::size_t>(grid.depth) * points * warp_size * sizeof(double);
  const auto warps = std::clamp<std::size_t>(usual_shared_bytes / warp_bytes, 1, most_warps);
  const std::size_t bytes = warps * warp_bytes;
  const Int3 n = grid.points;
  const dim3 block(warp_size, static_cast<unsigned>(warps));
  // All rows of a lane count as one cell of the box.
  cover({{0, 0, 0}, {n.x, ceil_div(n.y, points), n.z * grid.times}}, block, [&](dim3 blocks, Int3 first) {
    first.y *= points;
    launch("evaluate_points", kernel, {blocks, block, bytes}, stream, grid, first);
  });
}

template <class T>
void evaluate_grid(const FormulaGrid<T>& grid, Stream stream) {
  grid.depth <= shallow ? evaluate_rows<T, 8>(grid, stream) : evaluate_rows<T, 4>(grid, stream);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, FormulaGrids, evaluate_grid<T>)

}  // namespace isotherm::cuda
