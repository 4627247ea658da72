// Messages of a run: rank 0 prints text to stdout and `run.log`, and warnings to stderr and `run.log`. Text
// is never used as a format string.
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

// Call it in main before any file is opened. Failed writes return an error instead of raising SIGPIPE or
// SIGXFSZ. Closed standard streams are opened on /dev/null: else the next file would receive printed text.
void prepare_standard_streams();

// Prints to standard output and flushes; for subcommands that only print. Throws Error(io).
void print_now(const std::string& text);

// Can stderr show a rewritten line? One process, no launcher (mpirun fakes terminals), a terminal not "dumb".
bool can_rewrite_lines(int processes);

class Console {
 public:
  // Ranks other than 0 print only warnings, with their rank in front.
  explicit Console(int rank) : rank_(rank) {}
  Console& operator=(Console&&) = delete;

  // Copies all later output to this file. If it cannot be written, one warning is printed.
  void open_log(const std::filesystem::path& path, bool append = false);

  void say(std::string_view text);       // one or more lines; flushed
  void log_only(std::string_view text);  // to run.log and not to the terminal
  void warn(std::string_view problem);   // "warning: problem"; kept for the run record
  // Shows a line on stderr until the next output; empty: erases it. A background process shows none.
  void rewrite_line(std::string_view line);

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void lose_log();  // warns, with the reason in errno

  int rank_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_{nullptr, &std::fclose};  // null: none, or not writable
  bool line_shown_ = false;
  std::vector<std::string> warnings_;
};

// Progress of a run: one line that is rewritten on a terminal, or a line from time to time in a log.

struct Forecast {
  std::optional<double> seconds{};  // until the run ends; none: not known
  std::optional<double> most{};     // an upper bound, where a tolerance may end the run
  bool misses_tolerance = false;    // at its present rate the residual is too large at the last sweep
};

// From sums in which older data fades: if other jobs slow a run down, the forecast follows within minutes.
// The residual of a steady problem falls as a power of the sweep number while fast modes decay (the later
// half of the sweeps counts most), and in the end by the known factor of its slowest mode.
class ProgressRate {
 public:
  // `slowest`: the decay of the slowest mode per sweep (Method::decay, solver/method.hpp); 0: not known.
  explicit ProgressRate(double slowest = 0) : slowest_(slowest) {}

  // `seconds`: of a monotonic clock with any origin. Sweeps ascend; the first call is where the run begins.
  void reached(std::int64_t sweep, double seconds);
  // `sweep` may precede the last reached(). Ignored: sweeps checked before, residuals not positive or finite.
  void checked(std::int64_t sweep, double residual);

  std::optional<double> sweeps_per_second() const;  // none before the first sweeps
  // Empty until half a second was measured. `tolerance`: in the unit of the residuals.
  Forecast forecast(std::int64_t last_sweep, std::optional<double> tolerance) const;

 private:
  std::optional<double> sweeps_down(double way) const;  // until the residual has fallen by e^way

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
  double decayed_ = 0, decay_sweeps_ = 0, log_sweeps_ = 0;  // fading; log_sweeps_: of ln(sweep)
  double seen_ = 0;                                         // s, not fading
};

// "1 h 02 min", "unknown", "unknown, < 1 h 02 min", "1 h 02 min, unconverged".
std::string eta_text(const Forecast& forecast);

// --progress; bar: one line that is rewritten in place
enum class ProgressStyle { automatic, bar, lines, off };
ISOTHERM_WORDS(ProgressStyle, "auto", "bar", "lines", "off");

// Resolves `automatic`. `terminal`: the result of can_rewrite_lines().
inline ProgressStyle choose_style(ProgressStyle asked, bool terminal) {
  if (asked != ProgressStyle::automatic) return asked;
  return terminal ? ProgressStyle::bar : ProgressStyle::lines;
}

struct ProgressState {
  std::int64_t sweep = 0, last_sweep = 0;
  std::optional<double> time;            // s of the problem; none in a steady one
  std::optional<double> residual;        // the newest, in K or relative, like the tolerance
  std::optional<double> first_residual;  // same unit
  std::optional<double> tolerance;       // steady: the run ends at this residual
  double wall = 0;                       // s since the first sweep of this part of the run
  double points_per_second = 0;          // all ranks together
  Forecast left{};
};

// 0 to 1: the share of the sweeps, or of the fall of the residual's logarithm to the tolerance, if larger.
double fraction_done(const ProgressState& state);
// "step 1200/10000  12.0 %  ETA 1 min 12 s  1.234 GPts/s  residual 3.20e-05  t 0.12 s"
std::string progress_line(const ProgressState& state);

// Every 10 s in the first minute, every 30 s up to ten minutes, every 60 s from there.
class LineSchedule {
 public:
  bool due(double wall);  // true at most once per interval

 private:
  double next_ = 10;
};

class Progress {
 public:
  Progress(ProgressStyle style, Console& console) : style_(style), console_(console) {}
  ~Progress() { finish(); }  // leaves no half line on the terminal
  Progress& operator=(Progress&&) = delete;

  // Rank 0 may call it at any rate; it prints only when a line is due.
  void update(const ProgressState& state);
  void finish();  // erases the line that is rewritten; the next state starts from 0 s again

 private:
  ProgressStyle style_;
  Console& console_;
  LineSchedule lines_;
  std::optional<Timer> rewritten_;  // since the line was rewritten; none: not yet
};

}  // namespace isotherm
