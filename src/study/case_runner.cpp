#include "study/case_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <sstream>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "output/run_lock.hpp"
#include "output/safe_file.hpp"
#include "solver/schedule.hpp"
#include "study/session_folder.hpp"
#include "study/study_progress.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr double look_interval = 0.2;  // s; a child that ends is seen at once

// What a case is to do, for the share that it has in a study: cells times sweeps, of which a steady one may
// do fewer.
double work_of(const DeckCase& each) {
  return static_cast<double>(each.config.grid.cells.product()) *
         static_cast<double>(std::max<std::int64_t>(likely_sweeps(each.config), 1));
}

RunningCase running_case(const DeckCase& each, double seconds) {
  return {each.study.name, work_of(each), seconds};
}

// A run that lost its study may be writing its checkpoint. A lock that nobody holds is taken away.
bool is_busy(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "run.lock", ignored)) return false;
  try {
    const RunLock probe(folder, Force::no);
    return false;
  } catch (const Error&) {
    return true;
  }
}

enum class Start { anew, go_on };  // go_on: where there is a checkpoint of this case

class Runner {
 public:
  Runner(const StudyDeck& deck, const RunnerOptions& options) : deck_(deck), options_(options) {
    for (std::size_t i = 0; i < deck.cases.size(); ++i) {
      const CaseLook look = look_at(deck.cases[i]);
      if (look.is_due(options.failed)) {
        queue_.push_back({i, Start::go_on});
      } else {
        ++(look.is_finished() ? finished_ : failed_before_);
      }
    }
    double work = 0;
    for (const Waiting& each : queue_) work += work_of(deck.cases[each.number]);
    progress_.emplace(work, queue_.size(), options.jobs);
  }

  int run() {
    announce();
    while (!queue_.empty() || !running_.empty()) {
      pass_on_signal();
      start_some();
      progress_->show(now_running());
      wait_for_child(look_interval);
      reap();
    }
    return stopped_by_;
  }

 private:
  struct Waiting {
    std::size_t number;
    Start start;
    std::uintmax_t said_before = 0;  // bytes of its errors
  };
  struct Running {
    Waiting what;
    SessionFolder session;  // outlives its process
    ChildProcess process;
    Timer timer{};
  };

  void announce() {
    std::string text = counted(std::ssize(deck_.cases), "case");
    if (finished_ > 0) text += fmt::format(", {} finished before", finished_);
    if (failed_before_ > 0)
      text += fmt::format(", {} failed before (--retry starts them again)", failed_before_);
    progress_->say(fmt::format("{}, {} to run", text, queue_.size()));
  }

  std::vector<RunningCase> now_running() const {
    std::vector<RunningCase> all;
    for (const Running& each : running_)
      all.push_back(running_case(deck_.cases[each.what.number], each.timer.seconds()));
    return all;
  }

  void pass_on_signal() {
    const int signal = noted_stop_signal();
    if (signal == 0 || stopped_by_ != 0) return;
    stopped_by_ = signal;
    queue_.clear();
    if (!running_.empty())
      progress_->say(fmt::format("{}: {} still running; each stops with a checkpoint", signal_name(signal),
                                 counted(std::ssize(running_), "case")));
    // Launchers pass SIGUSR1 on to their ranks, and answer others by killing them.
    for (const Running& each : running_)
      each.process.send(is_launched(deck_.cases[each.what.number]) ? SIGUSR1 : signal);
  }

  void start_some() {
    for (std::size_t tried = queue_.size(); tried > 0; --tried) {
      if (std::ssize(running_) >= options_.jobs || noted_stop_signal() != 0) return;
      Waiting next = queue_.front();
      queue_.pop_front();
      const DeckCase& each = deck_.cases[next.number];
      if (is_busy(each.config.output.directory)) {
        if (told_.insert(next.number).second)
          progress_->say(fmt::format("{}: waiting for another run in its folder", each.study.name));
        queue_.push_back(next);
        continue;
      }
      // As it stands now: what held the folder may have come to its end, or left a checkpoint.
      const CaseLook look = look_at(each);
      if (look.is_finished()) {
        tell(each, look, {static_cast<int>(ExitCode::done), 0}, 0);
        continue;
      }
      if (!look.has_checkpoint || look.state == CaseState::changed) next.start = Start::anew;
      start(next, look.has_files);
    }
  }

  void start(Waiting next, bool has_files) {
    const DeckCase& each = deck_.cases[next.number];
    const CaseFiles files(each);
    try {
      std::error_code problem;
      fs::create_directories(files.folder, problem);
      if (problem)
        throw Error(ExitCode::cannot_create,
                    fmt::format("cannot make {} ({}); choose another output.directory",
                                in_quotes(files.folder.string()), problem.message()));
      remove_file(files.record().string());
      write_file_atomically(files.deck().string(), each.deck);
      const bool goes_on = next.start == Start::go_on;
      if (goes_on) next.said_before = file_text_or_empty(files.err()).size();
      SessionFolder session(next.number);
      ChildProcess process({words(each, next.start, has_files), files.out().string(), files.err().string(),
                            goes_on, environment(each, session)});
      running_.push_back({next, std::move(session), std::move(process)});
    } catch (const Error& error) {
      conclude(next, {static_cast<int>(error.code()), 0}, error.what(), 0);
    }
  }

  // One rank needs no launcher; but what others are compared with is bound to its cores as they are.
  bool is_launched(const DeckCase& each) const {
    return each.study.ranks > 1 || (deck_.study.scaling.is_given() && !deck_.study.launcher.empty());
  }

  static void fill(std::string& word, std::string_view what, int number) {
    if (const std::size_t at = word.find(what); at != word.npos)
      word.replace(at, what.size(), fmt::format("{}", number));
  }

  std::vector<std::string> words(const DeckCase& each, Start start, bool has_files) const {
    std::vector<std::string> all;
    if (is_launched(each)) {
      const std::string& launcher = deck_.study.launcher;
      std::istringstream text(launcher.empty() ? StudyConfig::default_launcher : launcher);
      const int ranks = each.study.ranks, of_a_node = deck_.study.ranks_per_node.value_or(ranks);
      for (std::string word; text >> word;) {
        fill(word, "{ranks}", ranks);
        fill(word, "{nodes}", (ranks + of_a_node - 1) / of_a_node);
        all.push_back(word);
      }
    }
    const CaseFiles files(each);
    all.insert(all.end(), {options_.program, "run", files.deck().string(), "--progress", "lines"});
    if (start == Start::go_on) {
      all.insert(all.end(), {"--restart", "latest"});
    } else if (has_files) {
      all.emplace_back(
          "output.overwrite=true");  // what it replaces is unfinished, failed, or may be replaced
    }
    return all;
  }

  // Cases that run at once share the cores, unless the user has dealt them out. Ranks of a scaling series
  // have as many on all counts: one alone would take them all.
  int threads(const DeckCase& each) const {
    int ranks = each.study.ranks;
    if (deck_.study.scaling.is_given())
      for (const DeckCase& other : deck_.cases) ranks = std::max(ranks, other.study.ranks);
    ranks = std::min(ranks, deck_.study.ranks_per_node.value_or(ranks));
    return std::max(1, options_.cores / options_.jobs / ranks);
  }

  std::vector<std::pair<std::string, std::string>> environment(const DeckCase& each,
                                                               const SessionFolder& session) const {
    std::vector<std::pair<std::string, std::string>> all{session.variable()};
    // A task of its own, --case, has the cores that its launcher gives it.
    const bool dealt_out = options_.jobs > 1 || (deck_.study.scaling.is_given() && deck_.cases.size() > 1);
    if (!dealt_out || std::getenv("OMP_NUM_THREADS")) return all;
    all.emplace_back("OMP_NUM_THREADS", fmt::format("{}", threads(each)));
    // Open MPI, 4 and 5, binds two ranks to a core each, whatever threads they have, and those of the next
    // job to the same ones. A launcher that the deck names knows what it does.
    if (deck_.study.launcher.empty())
      for (const char* name : {"OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"})
        all.emplace_back(name, "none");
    return all;
  }

  void reap() {
    for (auto each = running_.begin(); each != running_.end();) {
      const std::optional<ChildEnd> end = each->process.look();
      if (!end) {
        ++each;
        continue;
      }
      const Waiting what = each->what;
      const double wall = each->timer.seconds();
      each = running_.erase(each);
      conclude(what, *end, {}, wall);
    }
  }

  // Its last words: of a launcher's many the first are the program's, behind its warnings. A launcher that
  // fails itself begins with a rule.
  static std::string first_line(const CaseFiles& files, std::uintmax_t from) {
    std::string all = file_text_or_empty(files.err());
    all.erase(0, std::min<std::size_t>(from, all.size()));
    if (all.find("attempt to run as root") != all.npos)  // Open MPI's, which has a page of words for it
      return "the launcher starts no ranks for root; set OMPI_ALLOW_RUN_AS_ROOT=1 and "
             "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or be another user";
    std::istringstream text(all);
    std::string line;
    while (std::getline(text, line) &&
           (line.starts_with("warning: ") || line.find_first_not_of("- ") == line.npos)) {
    }
    return line;
  }

  void conclude(const Waiting& what, const ChildEnd& end, std::string message, double wall) {
    const DeckCase& each = deck_.cases[what.number];
    const bool by_us =
        stopped_by_ != 0;  // whatever its launcher makes of the signal, the case has not failed
    if (message.empty() && end.exit_code != 0) message = first_line(CaseFiles(each), what.said_before);
    if (message.empty() && end.signal != 0) message = fmt::format("ended by {}", signal_name(end.signal));
    std::error_code ignored;
    if (!by_us && fs::is_directory(CaseFiles(each).folder, ignored)) record_end(each, end, message, wall);
    CaseLook look = look_at(each);
    // A checkpoint of the very end leaves nothing to do, and no record of it.
    if (what.start == Start::go_on && end.exit_code == 0 && !look.is_finished() && stopped_by_ == 0) {
      queue_.push_back({what.number, Start::anew});
      return;
    }
    if (look.message.empty()) look.message = message;
    tell(each, look, end, wall);
  }

  void tell(const DeckCase& each, const CaseLook& look, const ChildEnd& end, double wall) {
    std::string text = fmt::format("{}: {}", each.study.name, word(look.state));
    if (look.state == CaseState::failed)
      text += end.signal ? fmt::format(" ({})", signal_name(end.signal))
                         : fmt::format(" (exit code {})", end.exit_code);
    text += fmt::format(" after {}", human_duration(wall));
    if (look.state == CaseState::failed && !look.message.empty()) text += ": " + escaped(look.message);
    if (wall == 0 || stopped_by_ != 0) return progress_->skipped(text, work_of(each));
    progress_->ended(text, running_case(each, wall), look.seconds_of_sweeps, now_running());
  }

  const StudyDeck& deck_;
  const RunnerOptions& options_;
  std::deque<Waiting> queue_;
  std::list<Running> running_;
  std::set<std::size_t> told_;
  std::optional<StudyProgress> progress_;
  int finished_ = 0, failed_before_ = 0, stopped_by_ = 0;
};

}  // namespace

void refuse_changed(const StudyDeck& deck) {
  if (deck.overwrite) return;
  constexpr int shown = 5;
  std::string text;
  int count = 0;
  for (const DeckCase& each : deck.cases) {
    const CaseLook look = look_at(each);
    if (look.state != CaseState::changed || ++count > shown) continue;
    text += fmt::format(
        "{}: holds a run of another deck ({}); replace it with output.overwrite=true, or choose "
        "another output.directory\n",
        in_quotes(each.config.output.directory), join({look.changes.begin(), look.changes.end()}));
  }
  if (count == 0) return;
  text.pop_back();
  if (count > shown) text += fmt::format("\nand {} more cases", count - shown);
  throw Error(ExitCode::cannot_create, text);
}

int run_cases(const StudyDeck& deck, const RunnerOptions& options) {
  note_stop_signals();
  expect_children();
  return Runner(deck, options).run();
}

}  // namespace isotherm
