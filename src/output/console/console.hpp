// What a run says: text of rank 0 to stdout and to `run.log`, warnings to stderr and `run.log`. The text is
// never used as a format.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "output/console/terminal.hpp"

namespace isotherm {

// For main, before anything opens a file. A reader that goes away (`isotherm run ... | head`) and a file size
// limit then show as errors of a write (SIGPIPE and SIGXFSZ are ignored), and closed standard streams are
// opened on /dev/null, or the next file opened would be written to by whoever prints.
void prepare_standard_streams();

class Console {
 public:
  enum class Echo { yes, no };  // `no` keeps stdout and stderr silent; the log is written all the same

  // Ranks other than 0 say warnings only, with their rank before them.
  explicit Console(int rank, Echo echo = Echo::yes);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // From now on all goes to this file too, and what was said before as well. On rank 0 only. That a log
  // cannot be opened or written is one warning and never an error.
  void open_log(const std::filesystem::path& path, bool append = false);

  void say(std::string_view text);                                  // one or more lines; flushed
  void say_fitted(std::string_view text, std::string_view fitted);  // to run.log; to stdout
  void log_only(std::string_view text);                             // to run.log and not to the terminal
  void warn(std::string_view problem);  // "warning: problem"; kept for the run record
  // Puts a line on the terminal that what is said or warned of next takes away, as an empty one does.
  void move(std::string_view line);

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Sinks;
  void lose_log(std::string_view reason);

  int rank_;
  std::unique_ptr<Sinks> sinks_;
  MovingLine moving_;
  std::vector<std::string> warnings_;
};

}  // namespace isotherm
