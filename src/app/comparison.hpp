// The measurements of `isotherm compare`: one combination after another, each made ready as a run of it would
// be.
#pragma once

#include <cstdint>
#include <optional>

#include "app/command_line.hpp"
#include "app/compare_axes.hpp"
#include "app/session.hpp"
#include "app/tuning.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "output/field_files/kept_field.hpp"
#include "output/records/compare_record.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Of a sample for which there is room for so many: whole intervals of checks, or whole periods and graphs of
// the usual depths, and few, so that a field still shows what went wrong in it.
std::int64_t sweeps_of_a_sample(double room, std::int64_t check_interval);

template <class T>
class Comparison {
 public:
  // Adds to `record`; all four outlive it. `session` is planned for the deck; its memory too.
  Comparison(const CompareOptions& options, const Session& session, Device& device, const Communicator& world,
             CompareRecord& record);

  // Collective. The first that can be measured is what later ones are held against. What a run would be
  // refused for, on all ranks, leaves the combination out.
  void measure(const ComparePlan& plan, const Combination& combination);
  // The same with rows that are given.
  void measure_with(const Session& each, const SolverRows<T>& rows, CompareEntry& entry);

 private:
  Session session_of(const Config& config) const;
  void describe(const Solver<T>& solver, const SolverRows<T>& rows, const Session& each,
                CompareEntry& entry) const;
  double seconds_of(Solver<T>& solver, std::int64_t sweeps) const;
  void sweep_first(Solver<T>& solver);
  void hold_against_first(Solver<T>& solver, const SolverRows<T>& rows, CompareEntry& entry);
  void sample(Solver<T>& solver, CompareEntry& entry) const;

  const CompareOptions& options_;
  const Session& session_;
  Device& device_;
  const Communicator& world_;
  CompareRecord& record_;

  struct First {
    KeptField<T> field;
    double norm;
    bool exact;  // no rounding on the way to the norm depends on its reduction
  };
  std::optional<First> first_;
};

}  // namespace isotherm
