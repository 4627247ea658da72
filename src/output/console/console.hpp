// What a run says: text of rank 0 to stdout and to `run.log`, warnings to stderr and `run.log`. The text is
// never used as a format.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_words.hpp"
#include "core/timer.hpp"

namespace isotherm {

// For main, before any file is opened: SIGPIPE and SIGXFSZ become errors of a write, and closed standard
// streams are opened on /dev/null, or the next file would get what is printed.
void prepare_standard_streams();

// To standard output, flushed, for a subcommand that does nothing but print. Throws Error(io).
void print_now(const std::string& text);

// A line in place on stderr: one process, no launcher (mpirun fakes terminals), a terminal not "dumb".
bool can_rewrite_lines(int processes);

class Console {
 public:
  // Ranks other than 0 say warnings only, with their rank before them.
  explicit Console(int rank) : rank_(rank), log_wanted_(rank == 0) {}
  Console& operator=(Console&&) = delete;

  // All goes to this file too, and what was said before. That it cannot be written is one warning, no error.
  void open_log(const std::filesystem::path& path, bool append = false);

  void say(std::string_view text);       // one or more lines; flushed
  void log_only(std::string_view text);  // to run.log and not to the terminal
  void warn(std::string_view problem);   // "warning: problem"; kept for the run record
  // A line on stderr that the next output replaces; empty: erased. Nothing from a terminal's background.
  void rewrite_line(std::string_view line);

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void lose_log();  // says so, with errno's reason

  int rank_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_{nullptr, &std::fclose};  // none, not yet, or lost
  bool log_wanted_;                                                             // not yet
  std::string early_;  // what the log will begin with
  bool line_shown_ = false;
  std::vector<std::string> warnings_;
};

// How far a run is: one line that is rewritten on a terminal, a line now and then in a log.

// From sums in which the past fades: a run that others slow down shows its new end within minutes. The
// residual of a steady problem falls as a power of the sweeps while fast modes die (the latter half of its
// sweeps counts most), and in the end by the factor of its slowest mode, which is known.
struct Forecast {
  std::optional<double> seconds{};  // to the end; none: not known
  std::optional<double> most{};     // to the last sweep, where a tolerance may end the run before
  bool misses_tolerance = false;    // the last sweep comes first, as the residual falls at present
};

class Pace {
 public:
  // `slowest`: the decay of the slowest mode a sweep (physics/operator.hpp); 0 where it is not known.
  explicit Pace(double slowest = 0) : slowest_(slowest) {}

  // `seconds`: of a clock that never jumps, from any start. Sweeps in order, the first where the run begins.
  void reached(std::int64_t sweep, double seconds);
  // Of an earlier sweep perhaps, once each. Not positive or not finite: forgotten.
  void checked(std::int64_t sweep, double residual);

  std::optional<double> sweeps_per_second() const;  // none before the first sweeps
  // Nothing until half a second has been seen. `tolerance`: in the unit of the residuals.
  Forecast forecast(std::int64_t last_sweep, std::optional<double> tolerance) const;

 private:
  std::optional<double> sweeps_down(double way) const;  // for which the residual falls by e^way

  struct Reached {
    std::int64_t sweep;
    double seconds;
  };
  struct Checked {
    std::int64_t sweep;
    double residual;
  };
  double slowest_;
  std::optional<Reached> reached_;
  std::optional<Checked> checked_;
  double sweeps_ = 0, seconds_ = 0;                         // fading
  double decayed_ = 0, decay_sweeps_ = 0, log_sweeps_ = 0;  // fading; the last by the logarithm of the sweep
  double seen_ = 0;                                         // s, not fading
};

// "1 h 02 min", "unknown", "unknown, < 1 h 02 min", "1 h 02 min, unconverged".
std::string eta_text(const Forecast& forecast);

// --progress; bar: one line that is rewritten in place
enum class ProgressStyle { automatic, bar, lines, off };
ISOTHERM_WORDS(ProgressStyle, "auto", "bar", "lines", "off");

// What `automatic` means. `terminal`: what can_rewrite_lines() says of it.
inline ProgressStyle choose_style(ProgressStyle asked, bool terminal) {
  if (asked != ProgressStyle::automatic) return asked;
  return terminal ? ProgressStyle::bar : ProgressStyle::lines;
}

struct ProgressState {
  std::int64_t sweep = 0, last_sweep = 0;
  std::optional<double> time;            // s of the problem; none in a steady one
  std::optional<double> residual;        // the newest, K or relative as the tolerance is
  std::optional<double> first_residual;  // same unit
  std::optional<double> tolerance;       // steady: the run ends at it
  double wall = 0;                       // s since the first sweep of this part of the run
  double points_per_second = 0;          // all ranks together
  Forecast left{};
};

// 0 to 1: of the sweeps, or of the way down to the tolerance on a logarithmic scale, whichever is further.
double fraction_done(const ProgressState& state);
// "step 1200/10000  12.0 %  ETA 1 min 12 s  1.234 GPts/s  residual 3.20e-05  t 0.12 s"
std::string progress_line(const ProgressState& state);

// Every 10 s in the first minute, every 30 s up to ten minutes, every 60 s from there.
class LineSchedule {
 public:
  bool due(double wall);  // true at most once an interval

 private:
  double next_ = 10;
};

class Progress {
 public:
  Progress(ProgressStyle style, Console& console) : style_(style), console_(console) {}
  ~Progress() { finish(); }  // leaves no half line on the terminal
  Progress& operator=(Progress&&) = delete;

  // Rank 0 calls it as often as it likes; it prints when it is time.
  void update(const ProgressState& state);
  void finish();  // erases the line that is rewritten; the next state starts from 0 s again

 private:
  ProgressStyle style_;
  Console& console_;
  LineSchedule lines_;
  Timer since_line_;
  bool line_shown_ = false;  // unless something else was said since
};

}  // namespace isotherm
