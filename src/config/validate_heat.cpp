// What the time step and the temperatures of a deck must be.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "config/deck.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

// A temperature that the deck gives, where a formula at the middle of the domain and the start.
struct Given {
  std::string key;
  double kelvin;
  bool is_number;
};

std::vector<Given> given_temperatures(const Config& config) {
  std::vector<Given> all;
  const Vector3 h = spacing(config);
  Vector3 middle = config.grid.origin;
  for (int axis = 0; axis < 3; ++axis)
    middle[static_cast<std::size_t>(axis)] +=
        h[static_cast<std::size_t>(axis)] * static_cast<double>(config.grid.cells[axis]) / 2;
  const auto add = [&](const std::string& key, const Expression& value) {
    all.push_back({key, value(middle[0], middle[1], middle[2]), value.is_constant()});
  };
  for (std::size_t f = 0; f < face_count; ++f) {
    const WallConfig& wall = config.boundaries[f];
    if (wall.kind == WallKind::temperature)
      add(fmt::format("boundaries.{}.value", face_names[f]), wall.value);
    if (wall.kind == WallKind::convection)
      add(fmt::format("boundaries.{}.ambient", face_names[f]), wall.value);
  }
  for (std::size_t i = 0; i < config.initial.size(); ++i) {
    const Paint& entry = config.initial[i];
    const std::string key = fmt::format("initial.{}.", i);
    if (entry.mode == PaintMode::add || entry.shape == Shape::gaussian) continue;  // a difference
    if (entry.value) add(key + "value", *entry.value);
    if (entry.shape == Shape::formula) add(key + "formula", entry.formula);
  }
  if (config.problem.mean_temperature) add("problem.mean_temperature", *config.problem.mean_temperature);
  return all;
}

}  // namespace

void check_time_step(const Config& config, Problems& problems) {
  if (!problems.sound({"grid", "material", "problem", "boundaries"})) return;
  if (config.problem.kind != ProblemKind::transient) return;
  const ProblemConfig& p = config.problem;
  const double limit = stable_dt(config), monotone = monotone_dt(config);
  if (p.dt && *p.dt > limit && !p.allow_unstable) {
    problems.add(
        "problem.dt",
        fmt::format(
            "{} s is above the stability limit of {} s, 1/(2 alpha (1/hx^2 + 1/hy^2 + 1/hz^2)); write "
            "at most that, or auto",
            shortest(*p.dt), shortest(limit)));
    return;
  }
  if (p.dt && *p.dt > monotone && *p.dt <= limit)
    problems.warn(
        "problem.dt",
        fmt::format("{} s is stable (the limit is {} s), but above {} s temperatures at the boundaries can "
                    "pass beyond their neighbours' and oscillate; write at most that, or auto",
                    shortest(*p.dt), shortest(limit), shortest(monotone)));
  constexpr double most_steps = 1e15;
  const double dt = p.dt ? *p.dt : std::min(p.dt_fraction * limit, monotone);
  if (p.end_time && *p.end_time / dt > most_steps)
    problems.add("problem.end_time",
                 fmt::format("{} s in steps of {} s are more than 1e15 steps; choose a smaller "
                             "end_time",
                             shortest(*p.end_time), shortest(dt)));
}

// A problem with an exact solution may be about differences of temperatures.
void check_temperatures(const Config& config, Problems& problems) {
  if (!problems.sound({"grid", "boundaries", "initial", "problem", "verify"})) return;
  if (config.verify.solution != ExactSolution::none) return;
  const std::vector<Given> all = given_temperatures(config);
  for (const Given& given : all)
    if (given.is_number && given.kelvin < 0)
      problems.add(given.key,
                   fmt::format("{} K is below absolute zero; temperatures are in kelvin, 25 C is 298.15",
                               shortest(given.kelvin)));
  // NaN is a formula's own problem, and told by its cell.
  const auto is_room = [](const Given& given) { return std::abs(given.kelvin) <= 60; };
  if (!all.empty() && std::ranges::all_of(all, is_room))
    problems.warn(all.front().key,
                  "all temperatures of the deck lie between -60 and 60; kelvin? (25 C is 298.15)");
}

}  // namespace isotherm
