// V cycles over a level and coarser ones (Brandt, Math. Comput. 31, 1977): a few sweeps leave an error that
// is smooth, which a coarser grid sees as well and solves at an eighth of the cost, and so on down to a few
// cells.
//
// The cells of levels depend on the global grid alone, formulas are local and in fixed order: the field has
// the same bits by any kernel, backend, rank count and process grid. Coarse levels are cut among the ranks as
// the finest is as long as each rank's block is thick enough for the ghosts of a time block; below that every
// rank has the whole level and solves it by itself, which takes one gathering of its source and none of the
// answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "solver/coarsening.hpp"
#include "solver/level.hpp"
#include "solver/step.hpp"

namespace isotherm {

// Grids below the field's, and the time that goes to each; what moves between two is the finer one's.
struct TimedGrid {
  Int3 cells;
  SolverTimes* times;
};
class GridsBelow {
 public:
  virtual ~GridsBelow() = default;
  virtual std::vector<TimedGrid> timed() = 0;  // the finest first
  // From now on the host waits behind each phase of every grid, as Step::time_phases() has it.
  virtual void time_phases() = 0;
};

// The mean of a level's field, K, where no boundary fixes it: exact sums, the same on all ranks.
template <class T>
class FieldMean {
 public:
  explicit FieldMean(Level<T>& level);  // which outlives it
  double find();                        // collective

 private:
  Level<T>& level_;
  Buffer sum_, on_host_, scratch_;
};

template <class T>
class Multigrid : public GridsBelow {
 public:
  // `finest`, which has its sources, and its step outlive it. Collective.
  // Throws CollectiveError where ghosts of the finest level are too few for the blocks of the next one.
  Multigrid(Level<T>& finest, Step<T>& step, SolverTimes& times);
  ~Multigrid() override;

  // One V cycle; `from_the_start` after a full multigrid cycle, which starts on the coarsest level, and in
  // which each finer one begins with what the coarser one found (Brandt 1977, section 4).
  void cycle(bool from_the_start);
  // Of all coarse levels, whose finest has changed, too.
  void use_implicit_dt(double dt);
  // Where no boundary fixes it: that of the field, K; unasked that of the deck.
  void want_mean(double kelvin) { wanted_mean_ = kelvin; }

  std::vector<TimedGrid> timed() override;
  void time_phases() override;

 private:
  struct Transfer;
  struct Coarse;
  Level<T>& level(std::size_t i);
  Step<T>& step(std::size_t i);
  SolverTimes& times(std::size_t i);
  void widen_halo(const CoarseGrid& next);
  void restrict_to(std::size_t coarse);
  void prolong_from(std::size_t coarse, double shift);
  void gather_source(Coarse& coarse);
  void v_cycle(std::size_t i);
  void start();
  double missing_mean();
  struct Part {  // of a cycle, that a graph may hold
    std::function<void()> work;
    std::optional<Owned<Graph>> graph = {};
    const T* starts_at = nullptr;  // the origin of the field that it reads first
    std::int64_t sweeps = 0;       // of the finest level
  };
  bool can_be_recorded();
  void record(Part& part);
  void run(Part& part);

  Level<T>& finest_;
  Step<T>& step_;
  SolverTimes& times_;
  Communicator self_;
  std::vector<std::unique_ptr<Coarse>> coarse_;  // the finest of them first
  std::optional<FieldMean<T>> mean_;             // where no boundary fixes it
  double wanted_mean_ = 0;                       // K
  Part start_, v_cycle_;
  bool records_ = false;
};

// Bytes of all coarse levels of a rank: fields, sources, and cells that are gathered.
std::size_t coarse_bytes(const Config& config, const Decomposition& decomposition, int rank, Backend backend);

// The kernel of sweeps that a cycle takes whole, where nothing is measured.
template <class T>
SweepChoice<T> smoothing_kernel(const Config& config, const Decomposition& decomposition, Backend backend);

}  // namespace isotherm
