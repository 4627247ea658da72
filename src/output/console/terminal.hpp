// The terminal on stderr, if there is one, and the one line on it that is written again and again.
//
// isatty tells the truth about neither stream under a launcher (Open MPI's mpirun gives every rank a terminal
// for stdout even when its own is a file), so a line moves only in one process, without a launcher.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace isotherm {

// What a verb prints, where printing is all that it does: it fails with its stream.

// To standard output, flushed, with all that was printed before. Throws Error(io).
void print_now(const std::string& text);

// What a run, or a study, looks at before it draws anything that moves.
struct Terminal {
  int processes = 1;
  bool under_launcher = false;      // one of the variables that launchers set for their ranks
  bool stderr_is_terminal = false;  // and TERM is not "dumb"
  // Of a terminal, unless NO_COLOR is set and not empty (no-color.org) or CLICOLOR is 0; elsewhere where
  // CLICOLOR_FORCE is set and not 0 (bixense.com/clicolors).
  bool colour = true;
  int columns = 80;  // of the terminal; elsewhere COLUMNS, if that is a number
};
Terminal find_terminal(int processes);
bool can_move(const Terminal& terminal);

std::optional<int> stderr_columns();  // now; none where stderr is no terminal, or one that does not say
// To fit tables to. Under a launcher none: what its terminal is passed on to may be a file.
std::optional<int> stdout_columns();

// A line on stderr that is replaced by the next, and taken away before anything else is printed. While the
// process is in the background of its terminal it shows nothing: the line there is the shell's.
class MovingLine {
 public:
  void show(std::string_view line);  // must fit the terminal; may hold colours
  void clear();                      // nothing is written where nothing is shown

 private:
  bool shown_ = false;
};

}  // namespace isotherm
