// What a run prints about itself: the banner before it, the table and the figures of merit after it.
#pragma once

#include <string>

#include "output/records/run_record.hpp"

namespace isotherm {

// About a dozen lines: the program and its libraries, the problem, where and how it is computed.
// Of the banner, and again once the autotuner has chosen.
std::string kernel_line(const MethodRecord& method);
std::string banner(const RunRecord& record);

// Time by phase over ranks, speed, residual, verdict, files; by rank, where that was asked for.
std::string final_table(const RunRecord& record);

// A line for each of foms(), for the patterns of Ramble, ReFrame and JUBE: fixed words, plain decimals
// without an exponent, unit last. "FOM cell_updates: 123.456 GLUP/s"
//
// Empty unless the final field was found finite and the run neither failed nor missed its verification: a
// wrong answer has no speed. A figure that is not finite or was not measured has no line.
std::string figures_of_merit(const RunRecord& record);

// "RESULT: DONE", or what else result_word() says: the last line of every run that comes to an end of its
// own.
std::string result_line(const RunRecord& record);

// What a run ends with: figures of merit, its end state, its result.
std::string closing_lines(const RunRecord& record);

}  // namespace isotherm
