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
#include <string_view>

#include "output/records/run_record.hpp"
#include "solver/solver.hpp"

namespace isotherm {

template <class T>
class Autotuner {
 public:
  virtual ~Autotuner() = default;

  // Does the deck leave anything to measure, and time to do so?
  virtual bool open() const = 0;
  virtual bool done() const = 0;
  // Collective. Makes and measures steps of the run, the last of which ends at sweep `until` or before; from
  // then on the solver uses the fastest plan that is known. No residual may be under way.
  virtual void advance(std::int64_t until) = 0;

  virtual double sweep_seconds() const = 0;  // of the fastest, of the run
  virtual Tuning record() const = 0;
};

// `solver` has the default plan and outlives the autotuner. `choices` are the same on all ranks.
template <class T>
std::unique_ptr<Autotuner<T>> make_autotuner(const Config& config, Solver<T>& solver,
                                             KernelChoices<T> choices);

// The names of what steps are made with.
template <class T>
StepRecord step_record(const StepPlan<T>& plan, std::string_view reduction);

// s that measurements may take, where a sweep takes so long: solver.tuning_budget, or 5 % of the run.
double tuning_seconds(const Config& config, double sweep_seconds);

// Collective. What the deck leaves open on the devices of all ranks, which may differ; the default first.
template <class T>
KernelChoices<T> common_choices(const Config& config, const Decomposition& decomposition,
                                const Communicator& world, const Device& device);

}  // namespace isotherm
