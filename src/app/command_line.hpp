// isotherm SUBCOMMAND [deck | --from FILE] [key.path=value ...] [options]: parses argv into a plain struct.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/enum_words.hpp"
#include "output/console/console.hpp"
#include "output/records/bench_options.hpp"

namespace isotherm {

enum class Subcommand { run, check, list, init, schema, info, bench };
ISOTHERM_WORDS(Subcommand, "run", "check", "list", "init", "schema", "info", "bench");

struct CheckOptions {
  bool json = false;         // requests about the deck on stdin
  bool resolved = false;     // print the resolved deck too
  bool ranks_table = false;  // a line per rank, however many there are
  double gpu_bytes = 0;      // memory of each GPU of the plan; 0: not given
};

struct CommandLine {
  Subcommand subcommand = Subcommand::run;
  std::string program;                  // argv combined, for the record
  std::string file;                     // run, check: the deck; info: the snapshot
  bool from_output = false;             // run, check: `file` is one that a run wrote, with its deck in it
  std::vector<std::string> overrides;   // "a.b.c=value", positional after the deck
  std::vector<int> override_arguments;  // their positions on the command line, for messages
  ProgressStyle progress = ProgressStyle::automatic;
  std::string restart;          // run: latest, a checkpoint or its folder; empty: from the initial state
  bool force = false;           // run: use the directory even if it is locked
  int ranks = 0;                // check: plan for so many; 0: as many as were launched
  bool print_deck = false;      // info: the deck inside the file
  bool list_json = false;       // list: as JSON, for scripts
  bool minimal_deck = false;    // init: only what a run needs
  std::string schema = "deck";  // schema: of which file
  CheckOptions check;
  BenchOptions bench;
  bool profile = false;  // run: print the time of each phase on each rank
};

// The parsed command, or a tool to start, or an exit code and a text: for stdout (--help, --version) or,
// without arguments, for stderr.
struct CommandLineResult {
  std::optional<CommandLine> command{};
  int exit_code = 0;
  std::string text{};
  std::string tool{};  // NAME of the tool isotherm-NAME, which parses the arguments after NAME
};

// Throws Error(command_line), with advice.
CommandLineResult parse_command_line(int argc, const char* const* argv);

// Replaces this process by the tool isotherm-NAME. Throws Error(unavailable) if it cannot be started.
[[noreturn]] void start_tool(const std::string& name, const std::vector<std::string>& words);

}  // namespace isotherm
