// What a run prints about itself: the banner before it, the table and the figures of merit after it.
#pragma once

#include <string>

#include "output/records/run_record.hpp"

namespace isotherm {

// Of the banner, and again once the autotuner has chosen.
std::string kernel_line(const MethodRecord& method);
std::string banner(const RunRecord& record);
std::string final_table(const RunRecord& record);

// A line for each of foms(), for the patterns of Ramble, ReFrame and JUBE: fixed words, plain decimals
// without an exponent, unit last. "FOM cell_updates: 123.456 GLUP/s"
//
// Empty of a run whose answer is wrong, or that has none. A figure that is not finite has no line.
std::string figures_of_merit(const RunRecord& record);

// What a run ends with: figures of merit, its end state, its result.
std::string closing_lines(const RunRecord& record);

}  // namespace isotherm
