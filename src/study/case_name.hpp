// Names of cases, which are names of folders and files too.
#pragma once

#include <string>
#include <vector>

#include "study/expansion.hpp"

namespace isotherm {

// Text with all that is not safe in a file name made '-', and none of it at the ends: "a/b c" is "a-b-c".
std::string safe_name(const std::string& text);

// Gives every case its name by study.name, or by all that varies; `words`: the names that the list gives
// them. Two of one name are a problem.
void name_cases(const StudyConfig& study, const std::vector<std::string>& words, Expansion& expansion,
                Problems& problems);

}  // namespace isotherm
