// What a run says: text of rank 0 to stdout and to `run.log`, warnings to stderr and `run.log`. The text is
// never used as a format.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace isotherm {

// For main, before anything opens a file. A reader that goes away (`isotherm run ... | head`) and a file size
// limit then show as errors of a write (SIGPIPE and SIGXFSZ are ignored), and closed standard streams are
// opened on /dev/null, or the next file opened would be written to by whoever prints.
void prepare_standard_streams();

// To standard output, flushed, for a subcommand that does nothing but print. Throws Error(io).
void print_now(const std::string& text);

// A line on stderr, in place: one process, without a launcher, on a terminal that is not "dumb". Under a
// launcher isatty() means nothing: Open MPI's mpirun gives every rank a terminal.
bool can_rewrite_lines(int processes);

class Console {
 public:
  // Ranks other than 0 say warnings only, with their rank before them.
  explicit Console(int rank) : rank_(rank), log_wanted_(rank == 0) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // All goes to this file too, and what was said before. That it cannot be written is one warning, no error.
  void open_log(const std::filesystem::path& path, bool append = false);

  void say(std::string_view text);       // one or more lines; flushed
  void log_only(std::string_view text);  // to run.log and not to the terminal
  void warn(std::string_view problem);   // "warning: problem"; kept for the run record
  // Writes a line to stderr that the next text, warning or line replaces; an empty line erases it. Does
  // nothing while the process is in the background of its terminal: the line there is the shell's.
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

}  // namespace isotherm
