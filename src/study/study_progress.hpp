// What a study tells while its cases run: a line for each that ends, with the time that the others will take,
// and on a terminal a line that moves, of those that run.
//
// That time is an estimate: cells times sweeps at the mean rate of the cases that have ended, and what these
// took beside their sweeps. A steady case is taken for one that sweeps as often as it may.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/timer.hpp"
#include "output/terminal.hpp"

namespace isotherm {

struct RunningCase {
  std::string name;
  double work;     // cells times sweeps
  double seconds;  // since it was started
};

class StudyProgress {
 public:
  // `work`: of all cases that are due, `jobs` of them at once.
  StudyProgress(double work, std::size_t cases, int jobs);
  ~StudyProgress();
  StudyProgress(const StudyProgress&) = delete;
  StudyProgress& operator=(const StudyProgress&) = delete;

  void say(const std::string& line);  // to stdout; a reader that goes away ends no study

  // A case, of which `seconds_of_sweeps` were sweeps; `running`: the others. "[3/10] what; about 2 min 05 s
  // left".
  void ended(const std::string& what, const RunningCase& ended, double seconds_of_sweeps,
             const std::vector<RunningCase>& running);
  // That another run finished it, or that the study is stopping.
  void skipped(const std::string& what, double work);

  void show(const std::vector<RunningCase>& running);
  // None before a case has ended, and where all take longer than expected.
  std::optional<double> seconds_left(const std::vector<RunningCase>& running) const;

 private:
  double work_, ended_work_ = 0, gone_work_ = 0, seconds_ = 0, seconds_of_sweeps_ = 0;
  std::size_t cases_, ended_ = 0, gone_ = 0;  // gone: ended, and skipped
  int jobs_;
  Terminal terminal_;
  MovingLine line_;
};

}  // namespace isotherm
