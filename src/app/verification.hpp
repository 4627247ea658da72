// `verify:` of a deck: errors against the exact solution, the observed order of a series, the verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "output/records/run_record.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// The errors in the run.json beside this checkpoint, where that is the record of the run that wrote it last,
// judged by the bounds of `config`. None where there is no such record, or it verified nothing.
std::optional<Verification> earlier_verification(const std::string& checkpoint, const Config& config);

// Collective. Compares the field with the exact solution at its time.
template <class T>
Verification verify(const Config& config, const Communicator& world, Solver<T>& solver);

// The deck itself, or the grids of its series. Throws Error(deck) where an axis of one would not get a whole
// number of cells, or there is only one.
std::vector<Config> cases_of(const Config& config);

// To what was found on `config`, one grid of a series, after what was found on those before it.
void add_level(Verification& found, const std::optional<Verification>& coarser, const Config& config,
               std::int64_t sweeps);
std::string level_line(const Verification& found);  // the newest level, with its order

// Passed or failed against verify.tolerance and, in a series, verify.expected_order; reported where the deck
// sets neither.
Verdict verdict(const Config& config, const Verification& verification);

}  // namespace isotherm
