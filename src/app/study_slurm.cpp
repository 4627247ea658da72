#include "app/study_slurm.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/shell_word.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "output/safe_file.hpp"
#include "study/case_name.hpp"
#include "study/case_state.hpp"
#include "study/slurm_script.hpp"
#include "study/slurm_tasks.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

// A task has the number of its case, from 1; beyond what a cluster lets an array have (MaxArraySize is 1001
// unless it was changed) they begin again, in an array of their own.
constexpr std::size_t most_tasks = 1000;
constexpr const char* launcher = "study.launcher=srun --ntasks={ranks}";

// Cases of one array: they have one request of resources, so as many ranks.
struct Array {
  std::string file;
  SlurmScript script{};
  std::vector<const DeckCase*> cases{};
};

struct Plan {
  std::vector<Array> arrays;
  Array collecting;  // of no cases
  std::size_t due = 0, finished = 0, failed = 0, queued = 0;
};

// What sbatch would take for something else.
void refuse_odd_folder(const fs::path& folder) {
  for (const char c : folder.string())
    if ((c >= 0 && c <= ' ') || std::string_view("\"'\\%#").find(c) != std::string_view::npos)
      throw Error(
          ExitCode::cannot_create,
          fmt::format("cannot use {} as the directory of a study with --slurm (a blank, quote, '%' or '#' "
                      "means something else to sbatch); choose another with output.directory=...",
                      in_quotes(folder.string())));
}

class Planner {
 public:
  Planner(const CommandLine& command, const StudyDeck& deck) : command_(command), deck_(deck) {
    const fs::path folder = fs::absolute(deck.directory).lexically_normal();
    refuse_odd_folder(folder);
    const std::string name = safe_name(fs::path(command.file).stem().string());
    common_ = {.name = name.empty() ? "study" : name,
               .output = (folder / "slurm_%A_%a.txt").string(),
               .options = deck.study.slurm.options,
               .folder = fs::current_path().string()};
  }

  Plan make() {
    Plan plan;
    const std::vector<std::size_t> due = find_due(plan);
    std::map<std::pair<int, std::size_t>, Array> arrays;  // by ranks, then by thousands
    for (const std::size_t number : due) {
      const int ranks = deck_.cases[number].study.ranks;
      Array& array = arrays[{ranks, number / most_tasks}];
      array.script.tasks.push_back(static_cast<int>(number % most_tasks) + 1);
      array.script.cases.push_back(deck_.cases[number].study.name);
      array.cases.push_back(&deck_.cases[number]);
    }
    for (auto& [key, array] : arrays) {
      const auto& [ranks, block] = key;
      array.file = file(fmt::format("ranks_{}{}", ranks, block ? fmt::format("_part_{}", block + 1) : ""));
      fill(array, ranks, case_command());
      array.script.at_once = command_.study.jobs;
      plan.arrays.push_back(std::move(array));
    }
    plan.collecting.file = file("collect");
    plan.collecting.script.tasks = {1};
    fill(plan.collecting, 1, words() + " --collect");
    return plan;
  }

 private:
  // What is in the queue already is not submitted once more.
  std::vector<std::size_t> find_due(Plan& plan) const {
    const Failed failed = command_.study.retry ? Failed::retry : Failed::stay;
    std::vector<std::size_t> due;
    std::map<std::size_t, std::string> submitted;
    for (std::size_t i = 0; i < deck_.cases.size(); ++i) {
      const CaseLook look = look_at(deck_.cases[i]);
      if (!look.is_due(failed)) {
        ++(look.is_finished() ? plan.finished : plan.failed);
        continue;
      }
      due.push_back(i);
      if (const std::string task = submitted_task(deck_.cases[i]); !task.empty()) submitted[i] = task;
    }
    if (!submitted.empty()) {
      const std::set<std::string> queued = find_queued_tasks(deck_.directory);
      plan.queued = std::erase_if(due, [&](std::size_t i) {
        const auto task = submitted.find(i);
        return task != submitted.end() && queued.contains(task->second);
      });
    }
    plan.due = due.size();
    return due;
  }

  std::string file(const std::string& what) const {
    return (fs::path(deck_.directory) / fmt::format("study_{}.sbatch", what)).string();
  }

  void fill(Array& array, int ranks, const std::string& command) const {
    SlurmScript script = common_;
    script.tasks = std::move(array.script.tasks);
    script.cases = std::move(array.script.cases);
    script.ranks = ranks;
    script.command = command;
    array.script = std::move(script);
  }

  std::string words() const {
    std::string text =
        shell_word(fs::read_symlink("/proc/self/exe").string()) + " study " + shell_word(command_.file);
    for (const std::string& override : command_.overrides) text += " " + shell_word(override);
    if (command_.study.limit > 0) text += fmt::format(" --limit {}", command_.study.limit);
    return text;
  }
  std::string case_command() const {
    std::string text = words();
    if (deck_.study.launcher.empty()) text += " " + shell_word(launcher);
    if (command_.study.retry) text += " --retry";
    return text + " --case \"${cases[SLURM_ARRAY_TASK_ID]}\"";
  }

  const CommandLine& command_;
  const StudyDeck& deck_;
  SlurmScript common_;
};

// The text of a script.
class Template {
 public:
  explicit Template(const SlurmConfig& slurm)
      : text_(read_slurm_template(slurm)),
        path_(slurm.script_template.empty() ? "inputs/study.sbatch" : slurm.script_template) {}
  std::string fill(const SlurmScript& script) const { return fill_slurm_template(text_, path_, script); }

 private:
  std::string text_, path_;
};

std::string summary(const StudyDeck& deck, const Plan& plan) {
  std::string text = counted(std::ssize(deck.cases), "case");
  if (plan.finished > 0) text += fmt::format(", {} finished before", plan.finished);
  if (plan.failed > 0) text += fmt::format(", {} failed before (--retry submits them again)", plan.failed);
  if (plan.queued > 0) text += fmt::format(", {} in the queue", plan.queued);
  return text + fmt::format(", {} to submit\n", plan.due);
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);  // a reader that goes away ends no submission
  std::fflush(stdout);
}

// In front, so that a case that starts at once finds its folder.
void make_case_folders(const Array& array) {
  for (const DeckCase* each : array.cases) {
    const CaseFiles files(*each);
    std::error_code problem;
    fs::create_directories(files.folder, problem);
    if (problem)
      throw Error(ExitCode::cannot_create, fmt::format("cannot make {} ({}); choose another output.directory",
                                                       in_quotes(files.folder.string()), problem.message()));
    write_file_atomically(files.deck().string(), each->deck);
  }
}

std::string submit(const Array& array, const Template& text, const std::string& directory,
                   const std::vector<std::string>& options = {}) {
  write_file_atomically(array.file, text.fill(array.script));
  return submit_job(array.file, options, directory);
}

// All that are due in one text, "afterany:12:13".
std::string submit_arrays(const StudyDeck& deck, const Plan& plan, const Template& text) {
  std::string jobs = "afterany";
  for (const Array& array : plan.arrays) {
    if (const int signal = noted_stop_signal(); signal != 0)
      throw Error(ExitCode::stopped, fmt::format("stopped by {} before all was submitted; the same command "
                                                 "submits the rest",
                                                 signal_name(signal)));
    make_case_folders(array);
    const std::string job = submit(array, text, deck.directory);
    for (std::size_t i = 0; i < array.cases.size(); ++i)
      record_submission(*array.cases[i], fmt::format("{}_{}", job, array.script.tasks[i]));
    say(fmt::format("job {}: {} on {}, by {}\n", job, counted(std::ssize(array.cases), "case"),
                    counted(array.script.ranks, "rank"), in_quotes(array.file)));
    jobs += ":" + job;
  }
  return jobs;
}

}  // namespace

std::string slurm_dry_run_text(const CommandLine& command, const StudyDeck& deck) {
  const Template text(deck.study.slurm);
  const Plan plan = Planner(command, deck).make();
  std::string all = summary(deck, plan);
  for (const Array& array : plan.arrays)
    all += fmt::format("\n==> {} <==\n{}", array.file, text.fill(array.script));
  if (plan.due > 0)
    all += fmt::format("\n==> {}, when they have ended <==\n{}", plan.collecting.file,
                       text.fill(plan.collecting.script));
  return all;
}

bool submit_study(const CommandLine& command, const StudyDeck& deck) {
  const Template text(deck.study.slurm);
  const Plan plan = Planner(command, deck).make();
  for (const Array& array : plan.arrays) text.fill(array.script);  // refuses, before the first is submitted
  say(summary(deck, plan));
  if (plan.due == 0) return plan.queued > 0;
  note_stop_signals();
  const std::string jobs = submit_arrays(deck, plan, text);
  const std::string last = submit(plan.collecting, text, deck.directory, {"--dependency=" + jobs});
  say(fmt::format("job {}: collects what they have come to, when all have ended, in {}\n", last,
                  in_quotes((fs::path(deck.directory) / "study.csv").string())));
  return true;
}

}  // namespace isotherm
