// A baseline: an earlier run.json, or the file of an earlier comparison, by whose figures of merit a later
// one is judged. For sites that run the same deck after every change of their machine, or of ours.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "output/records/merit.hpp"

namespace isotherm {

// What two records must have in common before their figures mean anything to each other.
struct Subject {
  Int3 cells;
  Precision precision = Precision::fp64;
  std::vector<std::string> devices;  // their names, by rank

  friend bool operator==(const Subject&, const Subject&) = default;
};

struct Baseline {
  std::string file;
  Subject subject;
  std::vector<Merit> merits;
};

// Of the text of `file`. Throws Error(deck) where it is no such record, or has no figures, as that of a run
// that failed has none.
Baseline parse_baseline(const std::string& text, const std::string& file);
// Throws Error(deck) where `now` is of another grid, precision, number of ranks or device.
void refuse_other_subject(const Baseline& baseline, const Subject& now);

struct MeritChange {
  Merit now;
  double before = 0;
  // Percent of what it was, and percentage points of what is itself a share; below 0 where it is better now.
  double worse = 0;
};

struct BaselineVerdict {
  std::string file;
  double tolerance = 0;              // percent, or points
  std::vector<MeritChange> changes;  // of the figures that both have
  std::vector<std::string> gone{};   // of the baseline alone
  bool is_worse(const MeritChange& change) const { return change.worse > tolerance; }
  bool is_better(const MeritChange& change) const { return change.worse < -tolerance; }
  std::int64_t worse() const;  // how many
};

BaselineVerdict judge(const Baseline& baseline, const std::vector<Merit>& now, double tolerance);

// Those that got worse or better, and a line that counts them all.
std::string baseline_table(const BaselineVerdict& verdict);
// Of figures that got worse, or of none in common; else empty.
std::string baseline_problem(const BaselineVerdict& verdict);
nlohmann::ordered_json to_json_object(const BaselineVerdict& verdict);

}  // namespace isotherm
