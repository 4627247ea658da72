#include "study/case_state.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "config/changes.hpp"
#include "core/error.hpp"
#include "core/signals.hpp"
#include "output/checkpoint.hpp"
#include "output/json_value.hpp"
#include "output/run_files.hpp"
#include "output/run_record.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr int case_schema_version = 1;

// An object; empty where the file is not there, or is none. Throws Error(deck) where it is newer than this
// program: what it says is not known, and the case must not be begun anew for that.
Json read_json(const fs::path& path, int known) {
  Json json = Json::parse(file_text_or_empty(path), nullptr, false);
  if (!json.is_object()) return Json::object();
  refuse_newer(json, known, path.string());
  return json;
}

std::string text_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}
std::optional<int> number_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_number_integer() ? std::optional(json[key].get<int>())
                                                             : std::nullopt;
}

// Whether a run that stopped itself has been tried again, and failed by a code of ours: what a launcher makes
// of a signal says nothing.
bool is_outlived(int exit_code, std::optional<int> last) {
  return exit_code == static_cast<int>(ExitCode::stopped) && last && *last != exit_code &&
         *last >= static_cast<int>(ExitCode::deck) && *last <= static_cast<int>(ExitCode::diverged);
}

double seconds_of_sweeps(const Json& run) {
  const Json part = run.value("performance", Json::object());
  const auto number = [&](const char* key) {
    return part.is_object() && part.contains(key) && part[key].is_number() ? part[key].get<double>() : 0;
  };
  return number("sweeps") * number("step_s");
}

CaseState state_of(const std::optional<int>& exit_code) {
  if (!exit_code) return CaseState::interrupted;
  switch (static_cast<ExitCode>(*exit_code)) {
    case ExitCode::done:
      return CaseState::done;
    case ExitCode::not_converged:
      return CaseState::not_converged;
    case ExitCode::stopped:
      return CaseState::stopped;
    default:
      return CaseState::failed;
  }
}

}  // namespace

const char* word(CaseState state) {
  static constexpr const char* words[] = {"not started",   "interrupted", "stopped", "failed",
                                          "not converged", "done",        "changed"};
  return words[static_cast<int>(state)];
}

std::string file_text_or_empty(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CaseLook look_at(const DeckCase& each) {
  const CaseFiles files(each);
  const Json run = read_json(files.run_record(), run_schema_version),
             record = read_json(files.record(), case_schema_version);
  const std::string ran = file_text_or_empty(files.folder / "deck.yaml");
  const std::string before = ran.empty() ? text_of(record, "deck") : ran;
  CaseLook look;
  look.has_files = !find_run_files(files.folder, files.name).empty();
  if (before.empty()) return look;
  look.has_checkpoint = !find_checkpoints(files.folder.string(), files.name).empty();
  std::optional<int> ranks = number_of(record, "ranks");
  if (run.contains("ranks") && run["ranks"].is_array()) ranks = static_cast<int>(run["ranks"].size());
  look.changes = changes_since(each, before, ranks);
  look.exit_code = number_of(run, "exit_code");
  look.message = text_of(run, "message");
  look.seconds_of_sweeps = seconds_of_sweeps(run);
  // It ended before it could write its own record: that is missing, or of the run before it, which was
  // stopped.
  if (!look.exit_code || is_outlived(*look.exit_code, number_of(record, "exit_code"))) {
    look.exit_code = number_of(record, "exit_code");
    look.message = text_of(record, "message");
    if (look.exit_code == static_cast<int>(ExitCode::done))
      look.exit_code.reset();  // there was nothing to do
  }
  look.state = look.changes.empty() ? state_of(look.exit_code) : CaseState::changed;
  return look;
}

std::vector<std::string> changes_since(const DeckCase& each, const std::string& deck,
                                       std::optional<int> ranks) {
  std::vector<std::string> found;
  if (ranks && *ranks != each.study.ranks)
    found.push_back(fmt::format("ranks {} -> {}", *ranks, each.study.ranks));
  if (deck == each.deck) return found;
  try {
    for (const Change& change : changes(read_resolved_deck(deck, "deck.yaml"), each.config))
      if (change.key != "output.directory" && change.key != "output.overwrite")
        found.push_back(fmt::format("{} {} -> {}", change.key, change.before, change.now));
  } catch (const Error&) {
    found.emplace_back("its deck.yaml is of no case");
  }
  return found;
}

void record_end(const DeckCase& each, const ChildEnd& end, const std::string& message, double wall) {
  write_file_atomically(CaseFiles(each).record(),
                        file_text({{"schema", "isotherm-case"},
                                   {"schema_version", case_schema_version},
                                   {"exit_code", end.exit_code},
                                   {"signal", end.signal ? Json(signal_name(end.signal)) : Json(nullptr)},
                                   {"message", text_or_null(message)},
                                   {"ranks", each.study.ranks},
                                   {"wall_s", wall},
                                   {"deck", each.deck}}));
}

}  // namespace isotherm
