// What a run reports of its files of the field: how much, how fast, and how much of it sweeps hide.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/communicator.hpp"

namespace isotherm {

// Snapshots and parts of the field; no checkpoints.
struct WritingRecord {
  std::int64_t files = 0, bytes = 0;
  std::int64_t cell_bytes = 0;  // of their cells before compression
  int compression = 0;          // level of deflate; 0: none
  // Of the slowest rank: from their first cell until they were proved; in which the sweeps have waited for
  // them, or for their copies; and after the last sweep, where there is nothing to hide behind.
  double seconds = 0, exposed = 0, at_end = 0;
  std::string why_in_step;  // empty: written beside the sweeps
};

// Collective: files and bytes stay, times become those of the slowest rank.
WritingRecord slowest(WritingRecord mine, const Communicator& communicator);

// Of the time of all files but what was left after the last sweep. None where that is nothing.
std::optional<double> hidden_percent(const WritingRecord& record);
// How many times smaller the files are than their cells. None where they are not compressed.
std::optional<double> compression_ratio(const WritingRecord& record);
// Bytes of the files a second. None without files.
std::optional<double> bandwidth(const WritingRecord& record);

std::string writing_line(const WritingRecord& record);  // for the final table; empty without files

nlohmann::ordered_json to_json_object(const WritingRecord& record);

}  // namespace isotherm
