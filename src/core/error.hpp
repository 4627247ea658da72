// Every failure of isotherm is one Error: an exit code and a message of the form
// "problem (why it is one); what to do". Thrown where it is found, caught once, in main.
#pragma once

#include <stdexcept>
#include <string>

namespace isotherm {

// The program's exit codes (sysexits.h where it has one). They are an interface: scripts test them.
enum class ExitCode : int {
  done = 0,
  command_line = 2,    // wrong option, argument or override syntax
  not_converged = 10,  // ended before the tolerance was reached
  deck = 65,           // the deck or a data file is wrong
  file_missing = 66,   // a file that was named cannot be read
  unavailable = 69,    // a device, library or feature is not available
  internal = 70,       // a bug of isotherm, or ranks that disagree
  memory = 71,         // does not fit
  cannot_create = 73,  // an output file or folder cannot be made
  io = 74,             // reading or writing failed
  stopped = 75,        // stopped early, can be resumed
  diverged = 76,       // NaN, divergence, or a failed verification
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Thrown by all ranks together, with one text (core/all_or_throw.hpp): rank 0 prints it, and every rank exits
// in order. Any other Error is thrown by one rank, which then ends all ranks by MPI_Abort.
class CollectiveError : public Error {
 public:
  using Error::Error;
};

}  // namespace isotherm
