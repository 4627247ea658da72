// The `.hdf.series` file: which snapshots belong together, and their times, for ParaView.
#pragma once

#include <string>
#include <vector>

namespace isotherm {

struct SeriesEntry {
  std::string file;  // name within the folder of the series
  double time;       // s; in a steady problem the sweep, so that the files stay apart
};

// Replaces the file `path` by one of these entries, whole or not at all. Throws as write_file_atomically.
void write_series(const std::string& path, const std::vector<SeriesEntry>& entries);

// What such a file holds, of ours: none where there is no file, or one that no run has written.
std::vector<SeriesEntry> read_series(const std::string& path);

}  // namespace isotherm
