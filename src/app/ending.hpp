// What to say of a run that was stopped, diverged, or ended above its tolerance: why, and how to resume it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.hpp"
#include "app/time_loop.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/run_directory.hpp"
#include "solver/diagnosis.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// The warning of a run whose precision loses the heat of sources and flux boundaries; empty: no reason to
// warn.
std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat);

// "go on with: isotherm run deck.yaml --restart 'runs/deck'" from the newest checkpoint; from the beginning
// where none is `kept`. `anew`: a key that gets another value behind it.
std::string next_command(const CommandLine& command, const std::string& directory, bool kept,
                         std::string_view anew = {});

std::string stopped_text(const LoopOutcome& outcome, std::int64_t sweeps, const std::string& next);

// Empty where there is nothing to say. `next`: the command, with problem.max_sweeps anew.
std::string steady_end_text(const Config& config, const LoopOutcome& outcome, std::int64_t sweeps,
                            const std::string& next);

// Collective. Writes the field of a run that has diverged, adds the file to `files`, and returns what the
// message of the divergence says of it. A file that cannot be written is no error of its own.
template <class T>
std::string write_diverged(const Config& config, Solver<T>& solver, SnapshotWriter& writer,
                           std::vector<std::string>& files) {
  const std::string name = file_of_sweep(config.name, solver.sweeps(), diverged_suffix);
  const FieldView<const T> field = solver.host_field();
  try {
    files.push_back(writer.write_file(
        name, field, solver.subdomain(),
        {solver.time(), solver.sweeps(), writer.fingerprint(field, solver.subdomain())}, std::nullopt));
    return fmt::format(", and at the field in {}", name);
  } catch (const CollectiveError& e) {
    return fmt::format(" (the field is lost: {})", e.what());
  }
}

// Collective. `checked`: the sweep whose `residual` (K) showed it; with asynchronous checks the field is of a
// later sweep.
template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual);

}  // namespace isotherm
