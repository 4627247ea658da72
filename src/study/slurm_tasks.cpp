#include "study/slurm_tasks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "output/json_value.hpp"
#include "output/safe_file.hpp"
#include "study/case_state.hpp"
#include "study/child_process.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr double look_interval = 0.2;  // s
constexpr const char* advice = "run isotherm where Slurm's programs are, or study without --slurm";

// What a program of Slurm has said on stdout.
std::string ask(const std::vector<std::string>& words, const fs::path& folder) {
  const fs::path out = folder / "slurm_answer.txt", err = folder / "slurm_errors.txt";
  expect_children();
  std::optional<ChildEnd> end;
  {
    ChildProcess program({.words = words, .out = out.string(), .err = err.string(), .advice = advice});
    while (!(end = program.look())) wait_for_child(look_interval);
  }
  const std::string answer = file_text_or_empty(out);
  std::string errors = file_text_or_empty(err);
  remove_file(out.string());
  remove_file(err.string());
  if (end->exit_code == 0) return answer;
  while (errors.ends_with('\n')) errors.pop_back();
  for (std::size_t at = errors.find('\n'); at != errors.npos; at = errors.find('\n'))
    errors.replace(at, 1, "; ");
  throw Error(
      ExitCode::unavailable,
      fmt::format("{} ended with exit code {} ({}); edit study.slurm.template or study.slurm.options, or ask "
                  "those who run the cluster",
                  words.front(), end->exit_code, errors.empty() ? "without a word" : escaped(errors)));
}

Json read_submission(const DeckCase& each) {
  Json json = Json::parse(file_text_or_empty(CaseFiles(each).submission()), nullptr, false);
  return json.is_object() && json.value("schema", "") == "isotherm-slurm" ? json : Json::object();
}

std::string own_task() {
  const char* job = std::getenv("SLURM_ARRAY_JOB_ID");
  const char* task = std::getenv("SLURM_ARRAY_TASK_ID");
  return job && task ? fmt::format("{}_{}", job, task) : "";
}

}  // namespace

std::string submit_job(const fs::path& script, const std::vector<std::string>& options,
                       const fs::path& folder) {
  std::vector<std::string> words{"sbatch", "--parsable"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(script.string());
  const std::string answer = ask(words, folder);
  const std::string job = answer.substr(0, answer.find_first_of(";\n"));  // "123;cluster"
  if (job.empty() || job.find_first_not_of("0123456789") != job.npos)
    throw Error(ExitCode::unavailable, fmt::format("sbatch answered '{}', no job's number; submit {} by hand",
                                                   printable(answer), in_quotes(script.string())));
  return job;
}

std::set<std::string> find_queued_tasks(const fs::path& folder) {
  std::istringstream text(
      ask({"squeue", fmt::format("--user={}", getuid()), "--array", "--noheader", "--format=%F_%K"}, folder));
  std::set<std::string> tasks;
  for (std::string task; text >> task;) tasks.insert(task);
  return tasks;
}

std::string submitted_task(const DeckCase& each) {
  return read_submission(each).value("task", "");
}

void record_submission(const DeckCase& each, const std::string& task) {
  write_file_atomically(CaseFiles(each).submission(), file_text({{"schema", "isotherm-slurm"},
                                                                 {"schema_version", 1},
                                                                 {"task", task},
                                                                 {"submitted", utc_now()},
                                                                 {"ranks", each.study.ranks},
                                                                 {"deck", each.deck}}));
}

void refuse_changed_since_submission(const DeckCase& each) {
  const Json submission = read_submission(each);
  if (own_task().empty() || submission.value("task", "") != own_task()) return;
  const std::vector<std::string> changes =
      changes_since(each, submission.value("deck", ""), submission.value("ranks", 1));
  if (changes.empty()) return;
  throw Error(ExitCode::deck,
              fmt::format("case {}: is not what was submitted as {} ({}); submit it again", each.study.name,
                          own_task(), join({changes.begin(), changes.end()})));
}

}  // namespace isotherm
