// V cycles over a level and coarser ones (Brandt, Math. Comput. 31, 1977). A few sweeps smooth the error; the
// next coarser grid solves for it at an eighth of the cost, and so on down to a few cells. The cells of a
// level depend on the global grid alone, formulas are local and in fixed order: the same bits with any
// kernel, backend, rank count and process grid. solver/coarsening.hpp says which levels are decomposed; every
// rank has the others whole and solves them redundantly, after one gathering of the source.
#pragma once

#include <memory>
#include <vector>

#include "solver/coarsening.hpp"
#include "solver/level.hpp"
#include "solver/step.hpp"

namespace isotherm {

// A grid and its time. Transfers between two grids count for the finer one.
struct TimedGrid {
  Int3 cells;
  PhaseClock* clock;
};

// A cycle that consists not only of sweeps. It is executed as a whole, on the field's grid and others.
class WholeCycle {
 public:
  virtual ~WholeCycle() = default;
  // `from_the_start`: the field is not yet an approximation of the solution.
  virtual void take(bool from_the_start) = 0;
  // Stores the given norm of the update of a sweep of the unit weight, if that takes less time than the
  // sweep; else returns false.
  virtual bool find_norm(const UpdateNorm&) { return false; }
  // Sweeps so far in addition to those of the method's cycles.
  virtual std::int64_t extra_sweeps() const { return 0; }
  virtual std::vector<TimedGrid> timed() = 0;  // the grids below the field's, the finest first
};

// `finest` is the step of the finest level, which has a field of sources; it must outlive the result.
// Collective. Throws CollectiveError where the finest level has too few ghosts for the next one's subdomains.
template <class T>
std::unique_ptr<WholeCycle> make_multigrid(Step<T>& finest);

// Solves for a change of the field, on a grid of the same cells, from an initial change of 0. The change is
// that of an implicit stage, or the error of the steady field. Rounding errors are relative to the change, so
// it may be of lower precision than the field (defect correction; Trottenberg, Oosterlee and Schueller,
// Multigrid, Academic Press 2001, chapter 2).
template <class T>
class Correction : public WholeCycle {
 public:
  // The source is `scale` times the field's residual, with the current step length and boundaries. Adds the
  // change after `cycles` V cycles; the first follows a full multigrid cycle where `from_the_start`.
  virtual void solve(double scale, int cycles, bool from_the_start) = 0;
};

// `step`: of a level whose method solves by correction; it must outlive the result. Collective. Throws as
// make_multigrid(). With several materials each rank has two layers of cells along an axis that is cut.
template <class T>
std::unique_ptr<Correction<T>> make_correction(Step<T>& step);
template <class T>  // solver/material_multigrid.cpp
std::unique_ptr<Correction<T>> make_material_correction(Step<T>& step);

// The configuration of the grid of the change.
Config config_of_change(const Config& config);
// Bytes of the grids of the method on a rank, in addition to the field's: fields, sources, gathered cells.
std::size_t multigrid_bytes(const Config& config, const Decomposition& decomposition, int rank,
                            Backend backend);
std::size_t material_correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                      Backend backend);  // of several materials
inline std::size_t element_bytes(const Config& config) { return config.precision == Precision::fp32 ? 4 : 8; }

}  // namespace isotherm
