// What `isotherm compare` measured, as plain numbers: its table and its JSON are made of this.
//
// The JSON (schema "isotherm-compare", version 1) follows run.json, whose `provenance`, `deck`, `grid`,
// `ranks`, `figures_of_merit` and `baseline` it has: a key's name ends in its unit, what was not measured is
// null, what is not finite is null and listed in `not_finite`; keys are only ever added within a version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "output/records/bench_record.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

inline constexpr int compare_schema_version = 1;  // rises as run_schema_version does

// A check is made every `check_interval` sweeps of a run: each sweep has its share of it.
struct CompareSamples {
  std::vector<double> sweep_seconds;  // of one, on the slowest rank, without checks
  std::vector<double> check_seconds;  // of a check behind the sweeps of the same sample
};

enum class CompareVerdict { same, differs, left_out };

struct CompareEntry {
  std::vector<std::string> words;  // by CompareRecord::axes
  std::string name;                // "kernel=openmp depth=2"
  CompareVerdict verdict = CompareVerdict::left_out;
  std::string note;                 // what differs, or why it was left out
  std::optional<ExitCode> refused;  // with which a run would be, where it was left out

  // What was taken, also of what no axis says.
  std::string kernel, policy, reduction, transport;
  int depth = 1;
  bool depth_open = false;  // nothing is exchanged, and no word says it
  int fused = 1;            // sweeps of a launch
  Overlap overlap = Overlap::off;
  bool graph = false;
  Int3 process_grid{1, 1, 1};

  CompareSamples samples;
  double bytes_per_point = 0;                // least traffic
  std::optional<double> copy_bandwidth;      // bytes a second, of all devices at once, right before
  std::optional<double> exchange, exposed;   // s a sweep: of the halo, and of that what no sweep hides
  std::optional<std::uint64_t> fingerprint;  // after CompareRecord::sweeps sweeps
  std::optional<double> norm;                // K, of the last of them
};

struct CompareFigures {
  Quantiles seconds;  // a sweep, with its share of a check
  double least = 0, most = 0;
  double points_a_second = 0;
  double effective_bandwidth = 0;    // bytes a second, least traffic
  std::optional<double> copy_share;  // of the copy bandwidth
};

struct CompareRecord {
  RunRecord run;  // as it stands before the first sweep of any: build, deck, grid, ranks
  struct Axis {
    std::string name, key;
  };
  std::vector<Axis> axes;           // those that vary
  std::vector<std::string> left;    // names of those that would make too many
  std::string reference;            // name of the combination that the others are held against
  std::int64_t sweeps = 0;          // of a sample, and before the comparison of fields
  std::int64_t check_interval = 1;  // sweeps of a run between two checks
  std::vector<CompareEntry> entries;
};

// None of what was not measured.
std::optional<CompareFigures> figures(const CompareRecord& record, const CompareEntry& entry);
// The fastest with the same bits first, then those that differ, then those that were left out.
void rank(CompareRecord& record);
// Null where nothing has the same bits as something.
const CompareEntry* winner(const CompareRecord& record);
bool all_same(const CompareRecord& record);

// May two norms of one update be so far apart? Not at all where neither is rounded on its way.
bool norms_agree(double a, double b, bool both_exact, Index cells);

std::vector<Merit> merits(const CompareRecord& record);
// Lines before the work, of so many combinations.
std::string compare_banner(const CompareRecord& record, std::size_t combinations);
std::string compare_table(const CompareRecord& record);
std::string to_json(const CompareRecord& record);  // ends in a newline

}  // namespace isotherm
