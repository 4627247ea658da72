// Which transport a deck may name for what it wants.
#include <fmt/format.h>

#include <algorithm>

#include "config/deck.hpp"
#include "config/reader.hpp"

namespace isotherm {
namespace {

// What leaves a result behind (diagnostics are a part of the history): none may come from a transport that
// moves nothing.
std::vector<std::string> results_of(const Config& config) {
  std::vector<std::string> results;
  if (config.problem.kind == ProblemKind::steady) results.push_back("problem.kind transient");
  if (config.output.snapshots) results.push_back("output.snapshots false");
  const OutputConfig& output = config.output;
  if (!output.slices.empty()) results.push_back("no output.slices");
  if (output.region.from || output.region.first_cell) results.push_back("no output.region");
  if (output.coarse.factor) results.push_back("no output.coarse");
  if (!output.probes.points.empty()) results.push_back("no output.probes");
  if (config.output.history) results.push_back("output.history false");
  if (config.output.checkpoint.has_interval()) results.push_back("no output.checkpoint");
  if (config.verify.solution != ExactSolution::none) results.push_back("no verify");
  return results;
}

}  // namespace

void check_transport(const Config& config, const KnownRows& rows, Problems& problems) {
  const std::string& chosen = config.parallel.transport;
  if (chosen == "auto" || !problems.sound({"parallel.transport"})) return;
  std::vector<std::string_view> known = {"auto"};
  for (const KnownRows::Transport& row : rows.transports) known.push_back(row.name);
  const auto row = std::find_if(rows.transports.begin(), rows.transports.end(),
                                [&](const KnownRows::Transport& t) { return t.name == chosen; });
  if (row == rows.transports.end()) return problems.add_unknown_word("parallel.transport", chosen, known);
  if (row->moves_data || !problems.sound({"problem.kind", "output", "verify.solution"})) return;
  const std::vector<std::string> results = results_of(config);
  if (!results.empty())
    problems.add(
        "parallel.transport",
        fmt::format("'{}' moves nothing, so that every result is wrong; use another, or leave no results: {}",
                    chosen, fmt::join(results, ", ")));
  problems.warn(
      "parallel.transport",
      fmt::format("'{}' moves nothing: the field is meaningless, and only times are worth anything", chosen));
}

}  // namespace isotherm
