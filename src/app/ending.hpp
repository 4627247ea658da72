// What to say of a run that was stopped, or that ended above its tolerance: why, and how to go on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/command_line.hpp"
#include "app/time_loop.hpp"
#include "config/config.hpp"
#include "solver/diagnosis.hpp"

namespace isotherm {

// The warning of a run whose precision loses the heat of sources and flux boundaries.

std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat);  // empty: no reason to warn

// "go on with: isotherm run deck.yaml --restart 'runs/deck'" from the newest checkpoint; from the beginning
// where none is `kept`. `anew`: a key that gets another value behind it.
std::string next_command(const CommandLine& command, const std::string& directory, bool kept,
                         std::string_view anew = {});

std::string stopped_text(const LoopOutcome& outcome, std::int64_t sweeps, const std::string& next);

// Empty where there is nothing to say. `next`: the command, with problem.max_sweeps anew.
std::string steady_end_text(const Config& config, const LoopOutcome& outcome, std::int64_t sweeps,
                            const std::string& next);

}  // namespace isotherm
