// Which files belong together, and their times, for viewers: `<stem>.hdf.series` and, over the same files,
// `<stem>.xmf`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/timer.hpp"
#include "output/field_files/file_grid.hpp"

namespace isotherm {

struct SeriesEntry {
  std::string file;     // name within the folder of the series
  double time;          // s; in a steady problem the sweep, so that the files stay apart
  std::string dataset;  // of its cells
  Precision stored;     // in which they are
};

// The text of an `.hdf.series`.
std::string series_text(const std::vector<SeriesEntry>& entries);

// Both files are replaced, whole or not at all, and cost as much as they have entries: so not at every entry,
// but at the first, and then where a second has passed and twenty times what they took last. What is missing
// after a kill, a run that goes on finds in the folder.
class SnapshotSeries {
 public:
  SnapshotSeries(std::string folder, const FileGrid& grid, bool steady, bool xdmf);
  ~SnapshotSeries();  // publishes as well as it can: the run has failed
  SnapshotSeries(const SnapshotSeries&) = delete;
  SnapshotSeries& operator=(const SnapshotSeries&) = delete;

  // What stands in the folder up to this sweep. Returns why files are left out, a line each.
  std::vector<std::string> take_over(std::int64_t sweep);
  // A file that is there, behind those before it. Throws as write_file_atomically.
  void add(const std::string& file, double time, std::int64_t sweep, Precision stored);
  void publish();                   // what the files do not name yet; throws as write_file_atomically
  std::string viewer_file() const;  // empty without an entry

 private:
  double place_in_time(double time, std::int64_t sweep) const;

  std::string folder_, path_;  // of the files, without a suffix
  FileGrid grid_;
  bool steady_, xdmf_;
  std::vector<SeriesEntry> entries_;
  bool published_ = false, complete_ = true;  // once; with all entries
  Timer since_;                               // the last time
  double cost_ = 0;                           // s, of the last time
};

// The `.xmf` file: XDMF 3 over the same `.hdf` files, as cells in the box that is theirs and with their
// times. It is what ParaView is to open: as VTKHDF it takes points alone, and so a box that is a cell too
// small.

// The files lie in its own folder.
std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries);

}  // namespace isotherm
