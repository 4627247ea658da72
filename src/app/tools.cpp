#include "app/tools.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "isotherm-";
constexpr std::string_view known = ISOTHERM_TOOLS;  // "animate,report,study", of postprocess/pyproject.toml

std::string this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).string();
}

std::vector<fs::path> folders() {
  const fs::path here = fs::path(this_program()).parent_path();
  // Of the build tree, and of an installation.
  std::vector<fs::path> all{here / "tools", here, here.parent_path() / "libexec" / "isotherm"};
  const char* path = std::getenv("PATH");
  std::istringstream text(path ? path : "");
  for (std::string folder; std::getline(text, folder, ':');)
    if (!folder.empty()) all.emplace_back(folder);
  return all;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

bool is_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

}  // namespace

std::optional<std::string> find_tool(const std::string& name) {
  if (!is_name(name)) return std::nullopt;
  for (const fs::path& folder : folders())
    if (const fs::path path = folder / (std::string(prefix) + name); is_program(path)) return path.string();
  return std::nullopt;
}

std::vector<std::string> find_tools() {
  std::set<std::string> names;
  for (const fs::path& folder : folders()) {
    std::error_code error;
    fs::directory_iterator entry(folder, error), end;
    for (; !error && entry != end; entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      if (file.starts_with(prefix) && is_name(file.substr(prefix.size())) && is_program(entry->path()))
        names.insert(file.substr(prefix.size()));
    }
  }
  return {names.begin(), names.end()};
}

bool is_known_tool(const std::string& name) {
  return fmt::format(",{},", known).find(fmt::format(",{},", name)) != std::string::npos;
}

std::string missing_tool_text(const std::string& name) {
  return fmt::format(
      "the tool {0}{1} is not installed (it is neither beside {2} nor on PATH); install the Python package "
      "isotherm-tools: pip install ./postprocess",
      prefix, name, in_quotes(this_program()));
}

void start_tool(const std::string& name, const std::vector<std::string>& words) {
  const std::optional<std::string> path = find_tool(name);
  if (!path) throw Error(ExitCode::unavailable, missing_tool_text(name));
  ::setenv("ISOTHERM_PROGRAM", this_program().c_str(), 1);  // what the tool starts and asks
  std::vector<std::string> all{*path};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(path->c_str(), pointers.data());
  throw Error(ExitCode::unavailable,
              fmt::format("cannot start {} ({}); install it anew", in_quotes(*path), std::strerror(errno)));
}

}  // namespace isotherm
