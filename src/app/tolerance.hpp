// Files that a run can do without, where its deck says so.
#pragma once

#include <fmt/format.h>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "output/console/console.hpp"

namespace isotherm {

// Collective: `write` makes a file that is no checkpoint. Where it fails on all ranks together, and
// output.on_error is warn, the run goes on, rank 0 with a warning. A rank's own failure always ends the run:
// HDF5 and MPI-IO were seen to hang after one.
template <class Write>
void write_or_warn(const Config& config, const Communicator& world, Console* console, Write&& write) {
  try {
    write();
  } catch (const CollectiveError& e) {
    if (config.output.on_error == OnError::stop) throw;
    if (console && world.is_root())
      console->warn(fmt::format("{}; the run goes on without it (output.on_error: warn)", e.what()));
  }
}

}  // namespace isotherm
