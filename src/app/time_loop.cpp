#include "app/time_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/agree.hpp"
#include "core/timer.hpp"
#include "solver/period.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

constexpr double largest_update = 1e9;           // K a sweep: no heat problem, but an unstable one
constexpr double seconds_between_updates = 0.5;  // of the progress line, where sweeps are slow

template <class T>
class Loop {
 public:
  Loop(const Config& config, Solver<T>& solver, const LoopOutputs<T>& outputs)
      : config_(config), solver_(solver), outputs_(outputs), schedule_(config) {
    outcome_.residual.norm = config.problem.norm;
    outcome_.residual.criterion = config.problem.criterion;
    outcome_.residual.check = config.problem.check;
    if (steady()) outcome_.residual.tolerance = config.problem.tolerance;
  }

  LoopOutcome run() {
    if (schedule_.snapshot_due(0) && schedule_.last() > 0) write_snapshot();
    write_fields(&FieldOutputs<T>::write_due);
    if (schedule_.diagnostics_due(0)) diagnose(row_of(0));
    while (solver_.sweeps() < schedule_.last() && !ended()) {
      advance(schedule_.next_after(solver_.sweeps()));
      do_what_is_due(solver_.sweeps());
    }
    solver_.synchronize();
    if (steady()) {
      outcome_.residual.convergence = converged_ ? Convergence::reached : Convergence::not_reached;
    }
    if (outcome_.divergence.empty()) {  // the final state, always
      if (config_.output.snapshots) write_snapshot();
      write_fields(&FieldOutputs<T>::write_last);
    }
    outcome_.wall = wall_.seconds();
    return std::move(outcome_);
  }

 private:
  bool steady() const { return config_.problem.kind == ProblemKind::steady; }

  // In one go on a device, whose queue must stay full; on the host of rank 0 in parts, so that progress can
  // be told: parts of whole periods, as the other ranks do not stop there.
  void advance(std::int64_t until) {
    while (solver_.sweeps() < until) {
      std::int64_t count = until - solver_.sweeps();
      if (outputs_.progress && !solver_.is_asynchronous() && solver_.sweeps() > 0) {
        const double per_sweep = wall_.seconds() / static_cast<double>(solver_.sweeps());
        count = whole_periods(static_cast<std::int64_t>(seconds_between_updates / per_sweep), count,
                              solver_.depth());
      }
      solver_.sweep(count);
      if (solver_.sweeps() < until) tell_progress();
    }
  }

  bool ended() const { return converged_ || !outcome_.divergence.empty(); }

  void do_what_is_due(std::int64_t sweep) {
    if (checked_) write(finish_check());
    HistoryRow row = row_of(sweep);
    if (schedule_.check_due(sweep) && !ended()) {
      solver_.start_residual();
      checked_ = sweep;
      if (!schedule_.check_may_lag(sweep)) row = finish_check();
    }
    if (schedule_.diagnostics_due(sweep) || (converged_ && config_.output.diagnostics)) {
      diagnose(std::move(row));
    } else {
      write(std::move(row));
    }
    if (ended()) return;
    if (schedule_.snapshot_due(sweep) && sweep < schedule_.last()) write_snapshot();
    write_fields(&FieldOutputs<T>::write_due);
  }

  // The row of the sweep that was checked, with its residual; without where the run has diverged. Finds out
  // whether the run has ended.
  HistoryRow finish_check() {
    HistoryRow row = row_of(*std::exchange(checked_, std::nullopt));
    const double value = solver_.finish_residual();
    Residual& r = outcome_.residual;
    if (!r.first) r.first = value;
    r.last = value;
    r.last_sweep = row.sweep;
    ++r.checks;
    if (!(value <= largest_update)) {
      outcome_.divergence = divergence(row.sweep);
    } else {
      const double relative = *r.first > 0 ? value / *r.first : 0;
      row.residual = value;
      row.relative = relative;
      tell_progress();
      const bool is_relative = config_.problem.criterion == Criterion::relative;
      converged_ = steady() && (is_relative ? relative : value) <= config_.problem.tolerance;
    }
    if (ended()) r.extra_sweeps = solver_.sweeps() - row.sweep;
    return row;
  }

  HistoryRow row_of(std::int64_t sweep) const {
    HistoryRow row;
    row.sweep = sweep;
    row.time = schedule_.time(sweep);
    return row;
  }

  void diagnose(HistoryRow row) {
    row.diagnostics = solver_.diagnose();
    write(std::move(row));
  }

  // Where there is something to write.
  void write(HistoryRow row) {
    if (!outputs_.history || !(row.residual || row.diagnostics)) return;
    row.wall = wall_.seconds();
    outputs_.history->add(row);
  }

  void tell_progress() {
    if (!outputs_.progress) return;
    const Residual& r = outcome_.residual;
    const bool relative = steady() && r.criterion == Criterion::relative && r.first && *r.first > 0;
    const double unit = relative ? *r.first : 1;
    ProgressState state;
    state.sweep = solver_.sweeps();
    state.last_sweep = schedule_.last();
    if (!steady()) state.time = solver_.time();
    if (r.last) state.residual = *r.last / unit;
    if (r.first) state.first_residual = *r.first / unit;
    if (steady()) state.tolerance = r.tolerance;
    state.wall = wall_.seconds();
    const auto points =
        static_cast<double>(config_.grid.cells.product()) * static_cast<double>(solver_.sweeps());
    state.points_a_second = state.wall > 0 ? points / state.wall : 0;
    outputs_.progress->update(state);
  }

  void write_snapshot() {
    if (!outputs_.snapshots) return;
    Timer timer;
    const FieldView<const T> field = solver_.host_field();
    outcome_.files.push_back(outputs_.snapshots->write(
        field, solver_.block(),
        {solver_.time(), solver_.sweeps(), outputs_.snapshots->fingerprint(field, solver_.block())}));
    outcome_.output_seconds += timer.seconds();
  }

  void write_fields(std::vector<std::string> (FieldOutputs<T>::*which)(Solver<T>&)) {
    if (!outputs_.fields) return;
    Timer timer;
    const std::vector<std::string> files = (outputs_.fields->*which)(solver_);
    outcome_.files.insert(outcome_.files.end(), files.begin(), files.end());
    outcome_.output_seconds += timer.seconds();
  }

  // Collective: what to say of a residual that is not finite, or beyond all heat. A lagged check tells of an
  // earlier field than the one that is left to look at.
  std::string divergence(std::int64_t checked) {
    const ExtremeCell extreme = solver_.most_extreme_cell();
    const std::string state = std::isinf(extreme.magnitude)
                                  ? std::string("is not finite")
                                  : fmt::format("has reached {:.3g} K", extreme.magnitude);
    const std::string what =
        fmt::format("cell ({}, {}, {}) {}", extreme.cell.x, extreme.cell.y, extreme.cell.z, state);
    const std::string remedy =
        steady()
            ? "look at walls and sources"
            : fmt::format("keep problem.dt below the stability limit {:.6g} s and look at walls and sources",
                          stable_dt(config_));
    const std::int64_t here = solver_.sweeps();
    return fmt::format(
        "diverged: {} after sweep {} (residuals are checked every {} sweeps{}); {}", what, here,
        config_.problem.check_interval,
        checked < here ? fmt::format(" and looked at late: that of sweep {} told", checked) : "", remedy);
  }

  const Config& config_;
  Solver<T>& solver_;
  LoopOutputs<T> outputs_;
  Schedule schedule_;
  std::optional<std::int64_t> checked_;  // the sweep whose residual is under way
  bool converged_ = false;
  LoopOutcome outcome_;
  Timer wall_;
};

}  // namespace

template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, const LoopOutputs<T>& outputs) {
  return Loop<T>(config, solver, outputs).run();
}

template LoopOutcome run_time_loop<float>(const Config&, Solver<float>&, const LoopOutputs<float>&);
template LoopOutcome run_time_loop<double>(const Config&, Solver<double>&, const LoopOutputs<double>&);

}  // namespace isotherm
