// A baseline of a benchmark: the JSON of an earlier one. Its figures of merit are those of its entries, so
// that files of any version have them.
#pragma once

#include <string>
#include <vector>

#include "output/records/baseline.hpp"
#include "output/records/bench_record.hpp"

namespace isotherm {

// A rate, a time or a share for each entry that was right, by what tells entries apart: "openmp 4planes fp64
// 256 x 256 x 256". Of the text of a benchmark's JSON.
std::vector<Merit> bench_merits(const std::string& json);

// For judge(): of the text of `file`. Throws Error(deck) where it is no benchmark's or has no figures, and
// where what it measured is not what `now`, which need not have entries, is about to measure: another
// subject, device or number of ranks, or other options that change what a row does.
Baseline parse_bench_baseline(const std::string& text, const std::string& file, const BenchRecord& now);

}  // namespace isotherm
