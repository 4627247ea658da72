// What a benchmark compares with before it measures: random data, the reference sweep, sums that are nearly
// exact. All in host memory, by all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "core/field_view.hpp"
#include "grid/field.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Every cell of the padded block, in [low, high), by seed and place alone.
template <class T>
void fill_random(FieldView<T> field, std::uint64_t seed, T low, T high);

// `time_block` sweeps of the whole block by the kernel `reference`, from `start` into `expected`; the ghosts
// of `expected` are poison. The result has the same bits as one thread's. `start` is used up where time_block
// > 1, and its ghosts beyond boundaries are filled.
template <class T>
void sweep_reference(Field<T>& start, Field<T>& expected, FieldView<const T> source, Coefficients<T> c,
                     const Boundaries<T>& boundaries, int time_block);

// Fills a result before the kernel under test runs.
template <class T>
inline constexpr T poison = std::numeric_limits<T>::quiet_NaN();

// Whether more runs of a reduction return the bits of the first.
bool repeats(double first, const std::function<double()>& run);

// Compares the padded blocks bit by bit: a cell outside the region that was written is wrong too. Empty where
// they agree, else a line that names the first cell.
template <class T>
std::string difference(FieldView<const T> expected, FieldView<const T> found);

// A reduction with compensated sums (Neumaier, ZAMM 54, 39, 1974) of terms that lose nothing.
struct ExactReduction {
  double value = 0;
  double magnitudes = 0;  // sum of the magnitudes of what was added: the scale of rounding errors
};
template <class T>
ExactReduction reduce_exactly(FieldView<const T> a, FieldView<const T> b, Box region, ReductionOp op);

// Distance from the exact value on the scale of rounding errors.
double reduction_error(const ExactReduction& exact, double found);
// The most that the rounding of any order of fp64 additions can make of it (Higham, Accuracy and Stability
// of Numerical Algorithms, SIAM 2002, chapter 4); none for a maximum.
double error_bound(Index cells, ReductionOp op);

}  // namespace isotherm
