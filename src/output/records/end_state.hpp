// The answer of a run: the highest and the lowest temperature at its end, where, and the heat that flows.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

struct EndState {
  bool steady = false;
  std::int64_t sweep = 0;
  double time = 0;  // s; 0 in a steady problem
  struct Extreme {
    double temperature_K = 0;
    Int3 cell;             // of the grid
    Vector3 position_m{};  // its centre
  };
  std::optional<Extreme> highest, lowest;  // none where every cell is NaN
  std::int64_t nan_cells = 0;
  // Transient: during the last step, as in the last line of history.csv. Steady: of the final field, without
  // a rate.
  std::optional<HeatFlows> heat;
  std::array<bool, face_count> faces{};  // that are not periodic
  std::string why_no_heat;
};

using TitledLines = std::vector<std::pair<std::string, std::string>>;

// "352.1 K at (0.003, 0.001, 0.01) m, cell (12, 3, 40)".
std::string extreme_text(const EndState::Extreme& extreme);
std::string end_lines(const EndState& end);  // what a run prints before its result

struct Described;
Described described(const EndState& end);
// Of the heat alone, from a run.json; none where it does not tell that of the field of this fingerprint.
TitledLines read_heat_lines(const std::filesystem::path& run_json, std::uint64_t fingerprint);

}  // namespace isotherm
