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

struct LevelSeconds {
  Int3 cells;
  double seconds;
};

template <class T>
class Multigrid {
 public:
  // `finest`, which has its sources, and its step outlive it. Collective.
  // Throws CollectiveError where ghosts of the finest level are too few for the blocks of the next one.
  Multigrid(Level<T>& finest, Step<T>& step, SolverTimes& times);
  ~Multigrid();

  // One V cycle. The first of a run, from the initial state, is a full multigrid cycle: it starts on the
  // coarsest level, and each finer one begins with what the coarser one found (Brandt 1977, section 4).
  void cycle();
  // Of an implicit method instead: such a cycle for what a stage changes, below the finest level, which it is
  // added to. Boundaries have the values of its time.
  void take_stage(std::size_t stage);
  // ... for steps of another length, s, from here on.
  void use_step(double dt);

  // From now on the host waits behind each phase of every level, as Step::time_phases() has it.
  void time_phases();
  // Of the coarse levels, the finest of them first; what moves between two is the finer one's.
  std::vector<LevelSeconds> coarse_seconds() const;
  SolverTimes coarse_times() const;  // of all of them
  void forget_times();

 private:
  struct Transfer;
  struct Coarse;
  Level<T>& level(std::size_t i);
  Step<T>& step(std::size_t i);
  SolverTimes& times(std::size_t i);
  void widen_halo(std::size_t level, const CoarseGrid& next);
  void restrict_to(std::size_t coarse, double scale = 1);
  void prolong_from(std::size_t coarse, double shift);
  void gather_source(Coarse& coarse);
  void v_cycle(std::size_t i);
  // Of `scale` times the residual; with so many cycles on the level below the finest.
  void start(double scale, int cycles);
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
  Buffer mean_, mean_host_, scratch_;            // where no boundary fixes the mean
  std::vector<Part> parts_;                      // start and V cycle, or the stages of an implicit step
  bool records_ = false;
  double dt_ = 0;  // s, of an implicit step
};

// Bytes of all coarse levels of a rank: fields, sources, and cells that are gathered.
std::size_t coarse_bytes(const Config& config, const Decomposition& decomposition, int rank, Backend backend);

}  // namespace isotherm
