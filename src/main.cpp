// isotherm: a YAML deck in, a temperature field out. This file is the story; ARCHITECTURE.md is the map.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "app/bench/bench.hpp"
#include "app/check.hpp"
#include "app/check_json.hpp"
#include "app/command_line.hpp"
#include "app/compare.hpp"
#include "app/info.hpp"
#include "app/list.hpp"
#include "app/run.hpp"
#include "app/tools.hpp"
#include "config/deck.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "output/console/console.hpp"
#include "output/records/run_schema.hpp"

namespace {

using namespace isotherm;

int print(const std::string& text) {
  print_now(text);
  return static_cast<int>(ExitCode::done);
}

// One rank's own failure: the others wait in MPI and would wait for ever.
[[noreturn]] void end_all(const Communicator& world, ExitCode code, const std::string& message) {
  fmt::print(stderr, "{}{}\n", world.size() > 1 ? fmt::format("rank {}: ", world.rank()) : "", message);
  abort_all_ranks(static_cast<int>(code));
}

int solve_on_all_ranks(const CommandLine& command, int argc, char** argv) {
  MpiSession mpi(argc, argv);
  const Communicator world = Communicator::world();
  try {
    switch (command.verb) {
      case Verb::check:
        return check(command, world);
      case Verb::bench:
        return bench(command, world);
      case Verb::compare:
        return compare(command, world);
      default:
        return run(command, world);
    }
  } catch (const CollectiveError& e) {
    if (world.is_root()) fmt::print(stderr, "{}\n", e.what());
    return static_cast<int>(e.code());
  } catch (const Error& e) {
    end_all(world, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    end_all(world, ExitCode::memory, "out of host memory; use a smaller grid, fp32 or more ranks");
  } catch (const std::exception& e) {
    end_all(world, ExitCode::internal, fmt::format("unexpected error ({}); please report it", e.what()));
  }
}

// `isotherm check` of a study is a question to the tool that runs it.
std::vector<std::string> check_words(int argc, char** argv) {
  std::vector<std::string> words(argv + 2, argv + argc);
  words.emplace_back("--check");
  return words;
}

int answer(const CommandLine& command, int argc, char** argv) {
  switch (command.verb) {
    case Verb::list:
      return print(command.list_json ? list_json() : list_text());
    case Verb::init:
      return print(command.minimal_deck ? minimal_deck() : commented_deck());
    case Verb::schema:
      return print(command.schema == "run" ? run_schema() : json_schema());
    case Verb::info:
      return print_info(command.file, command.print_deck ? InfoPart::deck : InfoPart::summary);
    case Verb::check:
      if (command.check.json) return check_json(command);
      if (names_study(command)) start_tool("study", check_words(argc, argv));
      return solve_on_all_ranks(command, argc, argv);
    case Verb::run:
    case Verb::bench:
    case Verb::compare:
      return solve_on_all_ranks(command, argc, argv);
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace

int main(int argc, char** argv) {
  prepare_standard_streams();
  const CommandLineResult parsed = parse_command_line(argc, argv);
  if (!parsed.command && parsed.tool.empty()) {
    std::fputs(parsed.text.c_str(), parsed.exit_code ? stderr : stdout);
    return parsed.exit_code;
  }
  try {
    if (!parsed.tool.empty()) start_tool(parsed.tool, {argv + 2, argv + argc});
    return answer(*parsed.command, argc, argv);
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    fmt::print(stderr, "unexpected error ({}); please report it\n", e.what());
    return static_cast<int>(ExitCode::internal);
  }
}
