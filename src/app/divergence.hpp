// What to say of a run whose residual is not finite, or beyond all heat.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/run_directory.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// The field of a run that has diverged, in a file of its own.

// Collective. Adds the file to `files`, and returns what the message of the divergence says of it. A file
// that cannot be written is said, and no error: the divergence is the one to report.
template <class T>
std::string write_diverged(const Config& config, Solver<T>& solver, SnapshotWriter& writer,
                           std::vector<std::string>& files) {
  const std::string name = diverged_name(config.name, solver.sweeps());
  const FieldView<const T> field = solver.host_field();
  try {
    files.push_back(writer.write_file(
        name, field, solver.block(),
        {solver.time(), solver.sweeps(), writer.fingerprint(field, solver.block())}, std::nullopt));
    return fmt::format(", and at the field in {}", name);
  } catch (const CollectiveError& e) {
    return fmt::format(" (the field is lost: {})", e.what());
  }
}

// Collective. `checked`: the sweep whose `residual` (K) told; where checks lag it is an earlier one than that
// of the field that is left to look at.
template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual);

}  // namespace isotherm
