#include "app/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/load.hpp"
#include "app/study_plan.hpp"
#include "app/study_slurm.hpp"
#include "config/deck.hpp"
#include "core/error.hpp"
#include "core/host_threads.hpp"
#include "core/shell_word.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "output/print.hpp"
#include "output/run_lock.hpp"
#include "output/safe_file.hpp"
#include "output/terminal.hpp"
#include "study/case_runner.hpp"
#include "study/collection.hpp"
#include "study/slurm_tasks.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

StudyDeck load_study(const CommandLine& command) {
  const StudyOptions& options = command.study;
  StudyDeck deck =
      parse_study(read_deck_file(command.file), command.file, command.overrides, known_rows(),
                  command.override_arguments, options.limit ? std::optional(options.limit) : std::nullopt);
  if (!options.only.empty()) keep_case(deck, options.only);
  if (!options.collect) refuse_cases(deck, options.slurm ? Host::another : Host::this_one);
  return deck;
}

// What to type to go on.
std::string words_of(const CommandLine& command) {
  std::string words = "isotherm study " + shell_word(command.file);
  for (const std::string& word : command.overrides) words += " " + shell_word(word);
  if (command.study.jobs > 0) words += fmt::format(" --jobs {}", command.study.jobs);
  if (command.study.limit > 0) words += fmt::format(" --limit {}", command.study.limit);
  if (command.study.slurm) words += " --slurm";
  if (!command.study.only.empty()) words += " --case " + shell_word(command.study.only);
  return words;
}

Failed failed_of(const CommandLine& command) {
  return command.study.retry ? Failed::retry : Failed::stay;
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

// Of study.csv and study.json, and the table on stdout.
Collection write_collection(const StudyDeck& deck, const std::string& deck_path) {
  const fs::path folder(deck.directory);
  Collection collection = collect(deck, deck_path, stdout_columns());
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

// The exit code, or an Error with it: what is to be done about what the cases have come to.
int conclude(const CommandLine& command, const StudyDeck& deck, const Collection& collection, int signal) {
  const std::string cases = counted(std::ssize(deck.cases), "case");
  if (signal != 0)
    throw Error(ExitCode::stopped,
                fmt::format("stopped by {} with {} of {} finished; go on with: {}", signal_name(signal),
                            collection.finished, cases, words_of(command)));
  if (collection.failed > 0)
    throw Error(collection.exit_code,
                fmt::format("{} of {} failed ({}); start again what failed with: {} --retry",
                            collection.failed, cases,
                            command.study.only.empty() ? "see state and message in study.csv"
                                                       : "see case.json and stderr.txt in its folder",
                            words_of(command)));
  if (collection.exit_code == ExitCode::stopped)
    throw Error(ExitCode::stopped, fmt::format("{} of {} finished; go on with: {}", collection.finished,
                                               cases, words_of(command)));
  if (!collection.disagreement.empty())
    throw Error(ExitCode::diverged,
                fmt::format("{}; see kernel, transport and fingerprint of each in study.csv",
                            collection.disagreement));
  return static_cast<int>(collection.exit_code);
}

int run_study(const CommandLine& command, const StudyDeck& deck) {
  return run_cases(deck, {fs::read_symlink("/proc/self/exe").string(), std::max(1, command.study.jobs),
                          static_cast<int>(find_host_cores().mask.size()), failed_of(command)});
}

// As one task of many that run at once: no lock but that of the case, no file but those of the case.
int run_one_case(const CommandLine& command, const StudyDeck& deck) {
  refuse_changed_since_submission(deck.cases.front());
  refuse_changed(deck);
  make_folder(deck.directory);
  const int signal = run_study(command, deck);
  return conclude(command, deck, collect(deck, command.file, std::nullopt), signal);
}

int print_dry_run(const CommandLine& command, const StudyDeck& deck) {
  const std::string text = command.study.slurm ? slurm_dry_run_text(command, deck)
                                               : dry_run_text(deck, failed_of(command), stdout_columns());
  print_now(text);
  return static_cast<int>(ExitCode::done);
}

}  // namespace

int study(const CommandLine& command) {
  const StudyDeck deck = load_study(command);
  for (const std::string& warning : deck.warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (deck.study.scaling.is_given() && command.study.jobs > 1 && !command.study.slurm)
    fmt::print(stderr, "warning: --jobs {}: cases that run at once share this host, and so their times do\n",
               command.study.jobs);
  if (!command.study.only.empty()) return run_one_case(command, deck);
  if (command.study.dry_run) return print_dry_run(command, deck);
  if (!command.study.collect) refuse_changed(deck);
  make_folder(deck.directory);
  const RunLock lock(deck.directory, command.force ? Force::yes : Force::no);
  if (!lock.warning().empty()) fmt::print(stderr, "warning: {}\n", lock.warning());
  if (command.study.slurm && submit_study(command, deck)) return static_cast<int>(ExitCode::done);
  const bool runs = !command.study.collect && !command.study.slurm;
  const int signal = runs ? run_study(command, deck) : 0;
  return conclude(command, deck, write_collection(deck, command.file), signal);
}

}  // namespace isotherm
