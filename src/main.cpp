// isotherm: a YAML deck in, a temperature field out. run() shows the steps of a run; see ARCHITECTURE.md.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "app/bench/bench.hpp"
#include "app/command_line.hpp"
#include "app/run.hpp"
#include "app/subcommands.hpp"
#include "config/deck.hpp"
#include "core/all_or_throw.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "output/console/console.hpp"

namespace {

using namespace isotherm;

int run(const CommandLine& command, const Communicator& world) {
  const Timer started;

  // Deck and plan: the problem, the owner and device of each cell, the memory. Most errors of the deck or the
  // job are reported here, before any work.
  Session session = plan_session(command, world);
  const std::optional<Restart> restart = plan_restart(command.restart, Force{command.force}, session, world);
  if (restart) {
    if (const auto code = nothing_to_do(*restart, session.deck.config, world)) return static_cast<int>(*code);
  }
  note_stop_signals();  // until here a signal ends the run at once, even while it waits for a file

  // Device: its memory and its copy bandwidth.
  const auto device = all_or_throw(world, [&] { return open_device(session.placement); });
  fit_ghosts(session, world);
  const double copy_bandwidth = measure_copy_bandwidth(session, *device, world);

  // Files, solver and time loop, report: the answer, the record, the verdict.
  return solve_and_report({command, world, session, restart, *device, copy_bandwidth, started});
}

int print(const std::string& text) {
  print_now(text);
  return static_cast<int>(ExitCode::done);
}

// For a failure of one rank: the others wait in MPI and would wait for ever.
[[noreturn]] void end_all(const Communicator& world, const Error& e) {
  fmt::print(stderr, "{}{}\n", world.size() > 1 ? fmt::format("rank {}: ", world.rank()) : "", e.what());
  abort_all_ranks(static_cast<int>(e.code()));
}

int on_all_ranks(const CommandLine& command, int argc, char** argv) {
  MpiSession mpi(argc, argv);
  const Communicator world = Communicator::world();
  try {
    if (command.subcommand == Subcommand::check) return check(command, world);
    if (command.subcommand == Subcommand::bench) return bench(command, world);
    return run(command, world);
  } catch (const CollectiveError& e) {
    if (world.is_root()) fmt::print(stderr, "{}\n", e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception&) {
    end_all(world, current_error());
  }
}

int answer(const CommandLine& command, int argc, char** argv) {
  switch (command.subcommand) {
    case Subcommand::list:
      return print(command.list_json ? list_json() : list_text());
    case Subcommand::init:
      return print(command.minimal_deck ? minimal_deck() : commented_deck());
    case Subcommand::schema:
      return print(command.schema == "run" ? run_schema() : json_schema());
    case Subcommand::info:
      return print_info(command);
    case Subcommand::check:
      if (command.check.json) return check_json(command);
      if (has_study(command)) {  // `isotherm study` checks it
        std::vector<std::string> words(argv + 2, argv + argc);
        words.emplace_back("--check");
        start_tool("study", words);
      }
      return on_all_ranks(command, argc, argv);
    case Subcommand::run:
    case Subcommand::bench:
      return on_all_ranks(command, argc, argv);
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace

int main(int argc, char** argv) {
  // Environment: standard streams that a launcher may have closed.
  prepare_standard_streams();

  // Command: one of the program's own, or a tool of the Python package.
  try {
    const CommandLineResult parsed = parse_command_line(argc, argv);
    if (!parsed.tool.empty()) start_tool(parsed.tool, {argv + 2, argv + argc});
    if (parsed.command) return answer(*parsed.command, argc, argv);
    std::fputs(parsed.text.c_str(), parsed.exit_code ? stderr : stdout);
    return parsed.exit_code;
  } catch (const std::exception&) {
    const Error e = current_error();
    fmt::print(stderr, "{}\n", e.what());
    return static_cast<int>(e.code());
  }
}
