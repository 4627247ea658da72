#include "output/records/end_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/text.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {

namespace {

std::string watts(double value) {
  return fmt::format("{:.6g} W", value + 0.0);  // no "-0 W"
}

// Where nothing flows, what is left is the rounding of the stored heat, and no share of anything.
std::string balance_text(const Json& heat) {
  const double balance = heat.at("balance_W"), percent = 100 * heat.at("relative_balance").get<double>();
  const auto flows = [](const Json& watt) { return !watt.is_null() && watt != 0.0; };
  if (!flows(heat.at("sources_W")) && std::ranges::none_of(heat.at("faces_W"), flows))
    return fmt::format("nothing flows; {} unaccounted for", watts(balance));
  const bool tiny = percent > 0 && percent < 1e-3;
  return fmt::format("{} % of what flows is unaccounted for: {}{}",
                     tiny ? fmt::format("{:.1e}", percent) : fmt::format("{:.3g}", percent), watts(balance),
                     heat.at("stored_W").is_null() ? "; 0 in the steady state" : "");
}

// `heat`: as run.json has it.
TitledLines heat_lines(const Json& heat) {
  std::string faces;
  for (const auto& [name, watt] : heat.at("faces_W").items())
    if (!watt.is_null()) faces += fmt::format("{}{} {}", faces.empty() ? "" : ", ", name, watts(watt));
  const Json& stored = heat.at("stored_W");
  return {{"heat in", faces.empty() ? "all faces are periodic" : faces + " (negative: out)"},
          {"", "from sources " + watts(heat.at("sources_W")) +
                   (stored.is_null() ? "" : ", stored " + watts(stored))},
          {"balance", balance_text(heat)}};
}

}  // namespace

std::string extreme_text(const EndState::Extreme& e) {
  return fmt::format("{:.6g} K at ({:.6g}, {:.6g}, {:.6g}) m, cell ({}, {}, {})", e.temperature_K,
                     e.position_m[0], e.position_m[1], e.position_m[2], e.cell.x, e.cell.y, e.cell.z);
}

static Described described(const EndState::Extreme& e) {
  const Int3 c = e.cell;
  return object({{"temperature_K", any_sign(or_null(e.temperature_K))},
                 {"cell", std::array{c.x, c.y, c.z}, "x, y, z; of equal ones the first, x fastest"},
                 {"position_m", any_sign(e.position_m), "its centre"}});
}

static Described described_heat(const EndState& end) {
  const HeatFlows heat = end.heat.value_or(HeatFlows{});
  std::vector<DescribedKey> faces;
  for (std::size_t f = 0; f < face_count; ++f) {
    const std::optional<double> watts(heat.boundaries[f]);
    faces.emplace_back(face_names[f], any_sign(end.faces[f] ? watts : std::nullopt));
  }
  Described content =
      object({{"faces_W", object(faces), "into the domain is positive; null of a periodic face"},
              {"sources_W", any_sign(or_null(heat.source))},
              {"stored_W", any_sign(end.steady ? std::nullopt : std::optional(heat.rate)),
               "by the temperatures; null in a steady problem"},
              {"balance_W", any_sign(or_null(heat.balance)), "faces + sources - stored"},
              {"relative_balance", or_null(heat.relative_balance), "of the sum of all magnitudes"}});
  content.schema["type"] = {"object", "null"};
  if (!end.heat) content.value = nullptr;
  return content;
}

Described described(const EndState& end) {
  return object({{"sweep", end.sweep},
                 {"time_s", any_sign(end.time), "0 in a steady problem"},
                 {"highest", end.highest},
                 {"lowest", end.lowest},
                 {"nan_cells", end.nan_cells},
                 {"heat", described_heat(end), "transient: during the last step; steady: of the final field"},
                 {"why_no_heat", or_null(end.why_no_heat)}});
}

std::string end_lines(const EndState& end) {
  TitledLines lines{{"at the end", end.steady
                                       ? "sweep " + grouped(end.sweep)
                                       : fmt::format("{:.6g} s, sweep {}", end.time, grouped(end.sweep))}};
  if (end.highest) lines.emplace_back("highest", extreme_text(*end.highest));
  if (end.lowest) lines.emplace_back("lowest", extreme_text(*end.lowest));
  if (end.nan_cells > 0) lines.emplace_back("not a number", counted(end.nan_cells, "cell"));
  if (end.heat) {
    std::ranges::copy(heat_lines(described_heat(end).value), std::back_inserter(lines));
  } else {
    lines.emplace_back("heat", "not known: " + end.why_no_heat);
  }
  std::string text;
  for (const auto& [title, content] : lines) text += fmt::format("  {:<13}{}\n", title, content);
  return text;
}

TitledLines read_heat_lines(const std::filesystem::path& run_json, std::uint64_t fingerprint) {
  try {
    if (!std::filesystem::is_regular_file(run_json)) return {};  // a pipe would be waited for
    std::ifstream file(run_json);
    const Json record = Json::parse(file);
    if (record.at("fingerprint") != fmt::format("{:016x}", fingerprint)) return {};
    return heat_lines(record.at("end_state").at("heat"));
  } catch (const std::exception&) {
    return {};  // it is the file's field that was asked for
  }
}

}  // namespace isotherm
