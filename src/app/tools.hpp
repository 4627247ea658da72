// The tools of isotherm that are programs of their own, written in Python: `isotherm NAME` starts
// isotherm-NAME, as git does with its subcommands.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace isotherm {

// The program, from the build tree, from beside this program, or from PATH.
std::optional<std::string> find_tool(const std::string& name);
std::vector<std::string> find_tools();        // names, sorted
bool is_known_tool(const std::string& name);  // of this version, whether it is there or not
std::string missing_tool_text(const std::string& name);

// Becomes the tool. `words`: behind its name. Throws Error(unavailable) where it does not start.
[[noreturn]] void start_tool(const std::string& name, const std::vector<std::string>& words);

}  // namespace isotherm
