// V cycles over a level and coarser ones (Brandt, Math. Comput. 31, 1977): a few sweeps leave a smooth error,
// which a coarser grid solves at an eighth of the cost, and so on down to a few cells. Cells of levels depend
// on the global grid alone, formulas are local and in fixed order: the same bits by any kernel, backend, rank
// count and process grid. Coarse levels are cut among the ranks as the finest is while blocks are as thick as
// the ghosts of a time block; below that every rank has the whole level and solves it by itself, which takes
// one gathering of its source.
#pragma once

#include <memory>
#include <vector>

#include "solver/coarsening.hpp"
#include "solver/level.hpp"
#include "solver/step.hpp"

namespace isotherm {

// A grid, and the time that goes to it; what moves between two is the finer one's.
struct TimedGrid {
  Int3 cells;
  PhaseTimes* times;
};

// A cycle that is taken whole, on the field's grid and others.
class WholeCycle {
 public:
  virtual ~WholeCycle() = default;
  // `from_the_start`: nothing is known of the field yet.
  virtual void take(bool from_the_start) = 0;
  virtual std::vector<TimedGrid> timed() = 0;  // the grids below the field's, the finest first
  // From now on the host waits behind each phase of every grid, as Step::time_phases() has it.
  virtual void time_phases() = 0;
};

// The step of the finest level, which has its sources, outlives it. Collective. Throws CollectiveError where
// ghosts of the finest level are too few for the blocks of the next one.
template <class T>
std::unique_ptr<WholeCycle> make_multigrid(Step<T>& finest);

// Solves for a change of the field, on a grid of the same cells, where it starts at 0: of an implicit stage,
// or what is missing to the steady field. What rounding takes is a part of the change, so the change may be
// of lower precision than the field (defect correction; Trottenberg, Oosterlee and Schueller, Multigrid,
// Academic Press 2001, chapter 2).
template <class T>
class Correction : public WholeCycle {
 public:
  // Source: `scale` times the field's residual; the step's length and boundaries as they are now. Adds the
  // change after so many V cycles, the first after a full multigrid cycle where `from_the_start`.
  virtual void solve(double scale, int cycles, bool from_the_start) = 0;
};

// The step of a level whose method solves by correction outlives it. Collective; throws as make_multigrid(),
// and of several materials where a rank has but one layer of cells.
template <class T>
std::unique_ptr<Correction<T>> make_correction(Step<T>& step);
template <class T>  // solver/material_multigrid.cpp
std::unique_ptr<Correction<T>> make_material_correction(Step<T>& step);

// The deck of that grid.
Config config_of_change(const Config& config);
// Bytes of all its grids of a rank.
std::size_t correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                             Backend backend);
std::size_t material_correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                      Backend backend);

// Bytes of all coarse levels of a rank: fields, sources, and cells that are gathered.
std::size_t coarse_bytes(const Config& config, const Decomposition& decomposition, int rank, Backend backend);
inline std::size_t element_bytes(const Config& config) {
  return config.precision == Precision::fp32 ? 4 : 8;
}

}  // namespace isotherm
