// What is written beside whole snapshots must fit the grid, and say when.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/deck.hpp"
#include "config/parts.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

// Names become parts of file names, and heads of columns.
void check_name(const std::string& key, const std::string& name, Problems& problems) {
  constexpr std::size_t longest = 64;
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.size() > longest || !std::all_of(name.begin(), name.end(), good))
    problems.add(key,
                 fmt::format("'{}' becomes a part of names; write at most {} letters, digits, '_' and '-'",
                             printable(name), longest));
}

void check_times(const Config& config, const std::string& key, const OutputTimes& times, Problems& problems) {
  if (times.every_steps && times.every_time)
    problems.add(key + ".every_time", "stands beside every_steps; keep one");
  if (times.every_time && config.problem.kind == ProblemKind::steady)
    problems.add(key + ".every_time", "a steady problem has no time; use every_steps, in sweeps");
  if (config.problem.check == Check::lagged && times.every_steps &&
      config.problem.check_interval % *times.every_steps == 0)
    problems.warn("problem.check",
                  fmt::format("lagged gains nothing ({}.every_steps {} waits for the field at every check); "
                              "write immediate, or a check_interval between those sweeps",
                              key, *times.every_steps));
}

void check_idle_times(const std::string& key, const OutputTimes& times, const char* missing,
                      Problems& problems) {
  const auto refuse = [&](const char* name) {
    problems.add(fmt::format("{}.{}", key, name),
                 fmt::format("says when, but not what to write; add {}, or remove it", missing));
  };
  if (times.every_steps) refuse("every_steps");
  if (times.every_time) refuse("every_time");
}

// One pair of two corners, or none.
bool check_corners(const RegionConfig& region, Problems& problems) {
  const std::string key = "output.region";
  const bool metres = region.from || region.to, cells = region.first_cell || region.last_cell;
  if (metres && cells) {
    problems.add(key, "has corners in metres and in cells; keep from and to, or first_cell and last_cell");
    return false;
  }
  const auto lacks = [&](bool one, bool other, const char* given, const char* missing) {
    if (!one || other) return false;
    problems.add(fmt::format("{}.{}", key, given), fmt::format("is one corner of two; add {}", missing));
    return true;
  };
  return !lacks(region.from.has_value(), region.to.has_value(), "from", "to") &&
         !lacks(region.to.has_value(), region.from.has_value(), "to", "from") &&
         !lacks(region.first_cell.has_value(), region.last_cell.has_value(), "first_cell", "last_cell") &&
         !lacks(region.last_cell.has_value(), region.first_cell.has_value(), "last_cell", "first_cell");
}

void check_probes(const Config& config, Problems& problems) {
  std::set<std::string> names;
  const std::vector<ProbePoint>& points = config.output.probes.points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string key = fmt::format("output.probes.points.{}", i);
    const std::string& name = points[i].name;
    check_name(key + ".name", name, problems);
    if (!names.insert(name).second)
      problems.add(
          key, fmt::format("a probe before it is called '{}' too; give one another name", printable(name)));
    for (int axis = 0; axis < 3; ++axis) {
      const double at = points[i].at[static_cast<std::size_t>(axis)];
      if (!within_box(config, axis, at))
        problems.add(key + ".at", fmt::format("{} m lies outside the box; write a position from {}",
                                              shortest(at), box_text(config, axis)));
    }
  }
}

}  // namespace

void check_field_outputs(const Config& config, Problems& problems) {
  const OutputConfig& output = config.output;
  if (!problems.sound({"grid", "problem.kind", "output", "precision"})) return;
  for (std::size_t i = 0; i < output.slices.size(); ++i) {
    const std::string key = fmt::format("output.slices.{}", i);
    check_name(key + ".name", output.slices[i].name, problems);
    check_times(config, key, output.slices[i].times, problems);
  }
  const bool one_region = check_corners(output.region, problems);
  check_times(config, "output.region", output.region.times, problems);
  check_times(config, "output.coarse", output.coarse.times, problems);
  check_times(config, "output.probes", output.probes.times, problems);
  if (!output.region.from && !output.region.to && !output.region.first_cell && !output.region.last_cell)
    check_idle_times("output.region", output.region.times, "from and to", problems);
  if (!output.coarse.factor) check_idle_times("output.coarse", output.coarse.times, "factor", problems);
  if (output.probes.points.empty())
    check_idle_times("output.probes", output.probes.times, "points", problems);
  check_probes(config, problems);
  if (one_region)
    field_parts(config,
                [&](const std::string& key, const std::string& problem) { problems.add(key, problem); });
}

}  // namespace isotherm
