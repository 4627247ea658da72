// The cases of a deck with `scaling:` as strong or weak series: time, speed-up and efficiency by ranks.
//
// A count of several runs has the time of the run in the middle, of an even number the quicker of the two
// there. Speed-up is the rate (cell updates a second) over that of one rank on the smallest count, efficiency
// the speed-up over the ranks: T1 / (n Tn) where the grid stays (strong), T1 / Tn where it grows with the
// ranks (weak). A smallest count without a time leaves both open: no other takes its place unasked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/study_config.hpp"
#include "core/box.hpp"

namespace isotherm {

// What is known of a case.
struct ScaledCase {
  std::string name;
  int series = 0, ranks = 1;
  std::string state;  // "done", for messages
  Int3 cells{};
  std::optional<double> step_s{};          // of one that has finished
  std::optional<double> hidden_percent{};  // of the communication
  double sweeps = 0;
  std::string fingerprint{};  // empty: unknown
};

struct Speed {
  double speedup = 0, efficiency_percent = 0;
};

// A count of ranks within a series.
struct ScalingRow {
  int ranks = 1;
  Int3 cells{};
  int runs = 0;                         // that have a time
  std::optional<std::size_t> middle{};  // the case whose run counts
  std::optional<Speed> speed{};
  std::string remark{};  // why something is missing
};

struct ScalingSeries {
  std::size_t first = 0;         // a case of it
  std::vector<ScalingRow> rows;  // by ranks; the first is what the others are compared with
  std::string no_base{};         // why they are not: "ranks-1 failed"; else empty
  std::string disagreement{};    // of fingerprints; else empty
};

// In the order of their first cases.
std::vector<ScalingSeries> scaling_series(const std::vector<ScaledCase>& cases);

// Of one case beside the base of its series; none where one of the two has no time.
std::optional<Speed> speed_of(const ScaledCase& each, const ScalingSeries& series,
                              const std::vector<ScaledCase>& cases);
// What that base is, or why there is none: "1 rank", "none (ranks-1: failed)".
std::string base_text(const ScalingSeries& series);

// The table that is printed. `label`: what the series has in common, or empty.
std::string scaling_text(ScalingKind kind, const std::string& label, const ScalingSeries& series,
                         const std::vector<ScaledCase>& cases, std::optional<int> width = std::nullopt);

}  // namespace isotherm
