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

// What a run that has come to its end said of its verification, for those who ask it to go on.

// The errors in the run.json beside this checkpoint, where that is the record of the run that wrote it last,
// judged by the bounds of `config`. None where there is no such record, or it verified nothing.
std::optional<Verification> earlier_verification(const std::string& checkpoint, const Config& config);

// Collective. Compares the field with the exact solution at its time.
template <class T>
Verification verify(const Config& config, const Communicator& world, Solver<T>& solver);

// The same body with so many cells along x, or, where x is one cell thick, along the first axis that is not;
// the other axes in proportion, but those one cell thick stay so. Throws Error(deck) where an axis would not
// get a whole number of cells, or there is only one.
Config refined(const Config& config, std::int64_t cells);

// The deck itself, or the grids of its series.
std::vector<Config> cases_of(const Config& config);

// log(e_i / e_{i+1}) / log(h_i / h_{i+1}) of the l2 errors; h is told by the axis with most cells.
std::vector<double> observed_orders(const std::vector<OrderLevel>& levels);
// To what was found on `config`, one grid of a series, after what was found on those before it.
void add_level(Verification& found, const std::optional<Verification>& coarser, const Config& config,
               std::int64_t sweeps);
std::string level_line(const std::vector<OrderLevel>& levels);  // the newest level, with its order

// Passed or failed against verify.tolerance and, in a series, verify.expected_order; reported where the deck
// sets neither.
Verdict verdict(const Config& config, const Verification& verification);

}  // namespace isotherm
