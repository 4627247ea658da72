// The autotuner: which kernel, tile, time block, halo width, overlap, graph and reduction make the fastest
// steps of this run on these devices. What the deck names is not tried.
//
// Candidates are measured with the first steps of the run itself: fields have the same bits by all of them,
// so no step is made twice, and a measurement holds all that a step holds (exchanges, boundaries, sources).
// All ranks measure together, and the slowest rank's time counts. Where one step takes more than a tenth of
// the budget, the same steps are made on a level of fewer planes.
//
// Choices are made one after another, those first that gain most, as there may be no time for all: kernel,
// tile, time block, halo width and overlap, graph, reduction. Each is a race of successive halving: every
// candidate gets a short measurement, the slow ones drop out, the others get another (Jamieson and Talwalkar,
// Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "output/records/run_record.hpp"
#include "solver/solver.hpp"

namespace isotherm {

template <class T>
class Autotuner {
 public:
  // `solver` has the default plan and outlives the autotuner. `choices` are the same on all ranks.
  Autotuner(const Config& config, Solver<T>& solver, KernelChoices<T> choices);
  ~Autotuner();

  // Does the deck leave anything to measure, and time to do so?
  bool open() const;
  bool done() const { return stage_ == Stage::done; }
  // Collective. Makes and measures steps of the run, the last of which ends at sweep `until` or before; from
  // then on the solver uses the fastest plan that is known. No residual may be under way.
  void advance(std::int64_t until);

  double seconds() const { return seconds_; }                        // that measurements took
  std::int64_t sweeps() const { return sweeps_; }                    // of the run, that were measured
  double sweep_seconds() const { return sweep_seconds_ * shrunk_; }  // of the fastest, of the run
  Tuning record() const;

 private:
  enum class Stage { temporal, singles, tiles, blocks, steps, graphs, reductions, done };
  struct Candidate {
    StepPlan<T> plan;
    const ReductionKernel<T>* reduction = nullptr;  // of a candidate that ends each step with a norm
    std::vector<double> samples = {};               // s of a sweep
    double score() const;                           // their median; infinite where it cannot run
  };
  struct FewerPlanes;

  Level<T>& level();
  Step<T>& step();
  double budget() const;  // s
  std::size_t best_of_race() const;

  std::vector<Candidate> temporal_candidates() const;
  std::vector<Candidate> single_candidates() const;
  std::vector<Candidate> tile_candidates() const;
  std::vector<Candidate> time_block_candidates() const;
  std::vector<Candidate> step_candidates() const;
  std::vector<Candidate> graph_candidates() const;
  std::vector<Candidate> reduction_candidates() const;
  std::vector<Candidate> kernels(bool temporal) const;
  Candidate with(const SweepChoice<T>& sweep) const;
  std::vector<int> halo_widths(const SweepChoice<T>& sweep) const;
  const Candidate* best_single() const;

  bool begin_race();
  void end_round();
  bool measure(Candidate& candidate, std::int64_t until);
  bool can_run(const Candidate& candidate);
  template <class Work>
  double timed(const Work& work);
  void use_fewer_planes();
  void use_fastest();
  void finish(bool complete);

  const Config& config_;
  Solver<T>& solver_;
  KernelChoices<T> choices_;
  std::vector<Candidate> tried_;
  std::size_t fastest_ = 0;        // of tried_; the default while nothing was measured
  std::vector<std::size_t> race_;  // of tried_: those that are still in
  std::size_t next_ = 0;           // of race_
  int round_ = 0;
  Stage stage_ = Stage::temporal;  // of the race
  double seconds_ = 0;
  double sweep_seconds_ = 0;  // of the fastest sweep so far; 0: none was measured
  std::int64_t sweeps_ = 0;
  bool complete_ = false;
  std::unique_ptr<FewerPlanes> fewer_;
  Index planes_;       // of a rank, that are swept
  double shrunk_ = 1;  // the planes of a rank over those of fewer_
};

// s that measurements may take, where a sweep takes so long: solver.tuning_budget, or 5 % of the run.
double tuning_seconds(const Config& config, double sweep_seconds);

// Collective. What the deck leaves open on the devices of all ranks, which may differ; the default first.
template <class T>
KernelChoices<T> common_choices(const Config& config, const Decomposition& decomposition,
                                const Communicator& world, const Device& device);

}  // namespace isotherm
