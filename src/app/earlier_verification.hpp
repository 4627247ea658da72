// What a run that has come to its end said of its verification, for those who ask it to go on.
#pragma once

#include <optional>
#include <string>

#include "config/config.hpp"
#include "output/run_record.hpp"

namespace isotherm {

// The errors in the run.json beside this checkpoint, where that is the record of the run that wrote it last,
// judged by the bounds of `config`. None where there is no such record, or it verified nothing.
std::optional<Verification> earlier_verification(const std::string& checkpoint, const Config& config);

}  // namespace isotherm
