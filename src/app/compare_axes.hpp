// `isotherm compare`: the choices that a deck leaves open, as axes, and every legal combination of their
// values. Arithmetic and tables only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"

namespace isotherm {

// What of the job decides which values there are; the same on all ranks.
struct CompareSetting {
  Backend backend = Backend::host;
  int ranks = 1;
  int deepest = 1;                        // halo that blocks, and what is due in the deck, have room for
  std::vector<std::string> kernels{};     // that all devices of the job run, up the ladder
  std::vector<std::string> transports{};  // that move data, and may work on all of them
  bool graphs = false;                    // sweeps of the deck can be recorded
};

struct AxisValue {
  std::string word;  // as an override gives it
  std::function<void(Config&)> apply;
};

// A row of the table.
struct CompareAxis {
  std::string_view name, key;        // "depth", "solver.halo_width"
  bool (*is_pinned)(const Config&);  // the deck names a value, and means it
  void (*open)(Config&);             // as if it did not
  // Fewer than two: nothing to compare. `asked`: the user has named the axis; else rows that `auto` would
  // not take are left out where there are many.
  std::vector<AxisValue> (*values)(const Config&, const CompareSetting&, bool asked);
  bool unasked = true;  // varies where no axis is named
};

// "kernel,depth" as rows of the table; empty for "". Throws Error(command_line).
std::vector<const CompareAxis*> parse_axes(const std::string& text);
// The deck with these axes open, whatever it says of them.
Config with_open(Config config, const std::vector<const CompareAxis*>& axes);

struct Combination {
  std::vector<std::string> words;  // by ComparePlan::axes
  Config config;
};

struct ComparePlan {
  std::vector<const CompareAxis*> axes;   // those that vary
  std::vector<const CompareAxis*> left;   // would too, and would make more combinations than the limit
  std::vector<Combination> combinations;  // not refused by anything that is known before they run
};

// `asked`: the axes that were named; none: as many of the table as stay within the limit, the first first.
// What the deck pins does not vary unless it is named. The first value of each axis is the plainest, so the
// first combination is what others are held against; the last axis changes fastest. Throws
// Error(command_line) where the axes that were named have more than `limit` combinations, or none.
ComparePlan plan_comparison(const Config& config, const CompareSetting& setting,
                            const std::vector<const CompareAxis*>& asked, int limit);

// Why a run of this config would be refused on such a job; empty: nothing is known against it.
std::string why_not_combined(const Config& config, const CompareSetting& setting);

// "kernel=openmp depth=2"; "the deck" without axes.
std::string combination_name(const std::vector<const CompareAxis*>& axes,
                             const std::vector<std::string>& words);

}  // namespace isotherm
