#include "app/study.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "app/load.hpp"
#include "app/study_plan.hpp"
#include "config/deck.hpp"
#include "core/error.hpp"
#include "core/host_threads.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "output/run_lock.hpp"
#include "output/safe_file.hpp"
#include "study/case_runner.hpp"
#include "study/collection.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

StudyDeck load_study(const CommandLine& command) {
  const int limit = command.study.limit;
  StudyDeck deck = parse_study(read_deck_file(command.file), command.file, command.overrides, known_rows(),
                               command.override_arguments, limit ? std::optional(limit) : std::nullopt);
  refuse_cases(deck);
  return deck;
}

// What to type to go on.
std::string words_of(const CommandLine& command) {
  std::string words = "isotherm study " + in_quotes(command.file);
  for (const std::string& word : command.overrides) words += " " + in_quotes(word);
  if (command.study.jobs > 1) words += fmt::format(" --jobs {}", command.study.jobs);
  if (command.study.limit > 0) words += fmt::format(" --limit {}", command.study.limit);
  return words;
}

void make_folder(const std::string& directory) {
  std::error_code problem;
  fs::create_directories(directory, problem);
  if (problem)
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot use {} as the study's directory ({}); choose another "
                            "with output.directory=...",
                            in_quotes(directory), problem.message()));
}

Collection write_collection(const StudyDeck& deck, const std::string& deck_path) {
  const fs::path folder(deck.directory);
  Collection collection = collect(deck, deck_path);
  write_file_atomically((folder / "study.csv").string(), collection.csv);
  write_file_atomically((folder / "study.json").string(), collection.json);
  const std::string text =
      fmt::format("\n{}\n{} of {} finished; all columns in {}, all records in study.json beside it\n",
                  collection.table, collection.finished, counted(std::ssize(deck.cases), "case"),
                  in_quotes((folder / "study.csv").string()));
  std::fputs(text.c_str(), stdout);  // a reader that goes away takes nothing from the files
  std::fflush(stdout);
  return collection;
}

}  // namespace

int study(const CommandLine& command) {
  const StudyDeck deck = load_study(command);
  for (const std::string& warning : deck.warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (command.study.dry_run) {
    const std::string text = dry_run_text(deck, command.study.retry);
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return static_cast<int>(written ? ExitCode::done : ExitCode::io);
  }
  refuse_changed(deck);
  make_folder(deck.directory);
  const RunLock lock(deck.directory, command.force ? Force::yes : Force::no);
  if (!lock.warning().empty()) fmt::print(stderr, "warning: {}\n", lock.warning());
  const int signal = run_cases(deck, {fs::read_symlink("/proc/self/exe").string(), command.study.jobs,
                                      static_cast<int>(find_host_cores().mask.size()), command.study.retry});
  const Collection collection = write_collection(deck, command.file);
  const std::string cases = counted(std::ssize(deck.cases), "case");
  if (signal != 0)
    throw Error(ExitCode::stopped,
                fmt::format("stopped by {} with {} of {} finished; go on with: {}", signal_name(signal),
                            collection.finished, cases, words_of(command)));
  if (collection.failed > 0)
    throw Error(collection.exit_code,
                fmt::format("{} of {} failed (see state and message in study.csv); start "
                            "again what failed with: {} --retry",
                            collection.failed, cases, words_of(command)));
  return static_cast<int>(collection.exit_code);
}

}  // namespace isotherm
