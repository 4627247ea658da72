#include "study/slurm_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "config/text.hpp"
#include "core/shell_word.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";

// "1,3-7%2"
std::string array_text(const std::vector<int>& tasks, int at_once) {
  std::string text;
  for (std::size_t first = 0; first < tasks.size();) {
    std::size_t last = first;
    while (last + 1 < tasks.size() && tasks[last + 1] == tasks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", tasks[first]);
    if (last > first) text += fmt::format("-{}", tasks[last]);
    first = last + 1;
  }
  return at_once > 0 ? fmt::format("{}%{}", text, at_once) : text;
}

// Of a bash array: "[1]=a [3]=b". Names of cases need no quotes.
std::string cases_text(const SlurmScript& script) {
  std::string text;
  for (std::size_t i = 0; i < script.cases.size(); ++i)
    text += fmt::format("{}[{}]={}", i ? " " : "", script.tasks[i], script.cases[i]);
  return text;
}

std::string options_text(const std::vector<std::string>& options) {
  std::string text;
  for (const std::string& option : options) text += (text.empty() ? "#SBATCH " : "\n#SBATCH ") + option;
  return text;
}

struct PlaceHolder {
  std::string_view name;
  std::string value;
  bool needed;
  bool used = false;
};

std::vector<PlaceHolder> place_holders(const SlurmScript& script) {
  return {{"name", script.name, false},
          {"output", script.output, false},
          {"tasks", array_text(script.tasks, script.at_once), true},
          {"ranks", fmt::format("{}", script.ranks), true},
          {"options", options_text(script.options), !script.options.empty()},
          {"cases", cases_text(script), true},
          {"folder", shell_word(script.folder), false},
          {"command", script.command, true}};
}

std::vector<std::string_view> names_of(const std::vector<PlaceHolder>& holders) {
  std::vector<std::string_view> names;
  for (const PlaceHolder& holder : holders) names.push_back(holder.name);
  return names;
}

[[noreturn]] void refuse_unknown(const std::string& name, const std::string& path, std::ptrdiff_t line,
                                 const std::vector<std::string_view>& known) {
  const auto nearest = nearest_word(name, known);
  throw Error(ExitCode::deck,
              fmt::format("{}:{}: unknown place-holder '@{}@'; {}", path, line, printable(name),
                          nearest.empty() ? fmt::format("use one of @{}@", join(known, "@, @"))
                                          : fmt::format("did you mean '@{}@'?", nearest)));
}

void refuse_missing(const std::vector<PlaceHolder>& holders, const std::string& path) {
  std::string missing;
  for (const PlaceHolder& holder : holders)
    if (holder.needed && !holder.used)
      missing += fmt::format("{}'@{}@'", missing.empty() ? "" : ", ", holder.name);
  if (!missing.empty())
    throw Error(ExitCode::deck,
                fmt::format("{}: has no {} (what stands there decides what a task runs); add it as in "
                            "inputs/study.sbatch",
                            path, missing));
}

}  // namespace

std::string read_slurm_template(const SlurmConfig& slurm) {
  if (slurm.script_template.empty()) return default_slurm_template();
  errno = 0;
  std::ifstream file(slurm.script_template, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty())
    throw Error(
        ExitCode::file_missing,
        fmt::format("study.slurm.template: {} cannot be read ({}); name a copy of inputs/study.sbatch",
                    in_quotes(slurm.script_template), errno ? std::strerror(errno) : "it is empty"));
  return text;
}

std::string fill_slurm_template(const std::string& text, const std::string& path, const SlurmScript& script) {
  std::vector<PlaceHolder> holders = place_holders(script);
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('@', at), text.size());
    filled += text.substr(at, open - at);
    at = open;
    const std::size_t close = text.find_first_not_of(letters, open + 1);
    if (open >= text.size()) break;
    if (close == text.npos || text[close] != '@' || close == open + 1) {  // an address, "${cases[@]}"
      filled += text[at++];
      continue;
    }
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto holder = std::ranges::find(holders, name, &PlaceHolder::name);
    if (holder == holders.end())
      refuse_unknown(name, path,
                     1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(open), '\n'),
                     names_of(holders));
    holder->used = true;
    filled += holder->value;
    at = close + 1;
  }
  refuse_missing(holders, path);
  return filled;
}

void check_slurm(const SlurmConfig& slurm, Problems& problems) {
  for (std::size_t i = 0; i < slurm.options.size(); ++i) {
    const std::string& option = slurm.options[i];
    const bool is_line = std::ranges::none_of(option, [](char c) { return c >= 0 && c < ' '; });
    if (option.starts_with('-') && is_line) continue;
    problems.add(
        fmt::format("study.slurm.options.{}", i),
        fmt::format("'{}' is no option of sbatch; write one as \"--partition=gpu\"", printable(option)));
  }
}

}  // namespace isotherm
