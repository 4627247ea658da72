#include "study/collection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "config/key_path.hpp"
#include "config/overrides.hpp"
#include "config/text.hpp"
#include "core/build_info.hpp"
#include "core/text.hpp"
#include "core/text_table.hpp"
#include "output/json_value.hpp"
#include "study/columns.hpp"
#include "study/scaling_series.hpp"

namespace isotherm {
namespace {

using Row = std::map<std::string, Json>;  // column -> value; null: not known

std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

// The last line of history.csv that has diagnostics.
Row last_diagnostics(const std::filesystem::path& path) {
  std::istringstream text(file_text_or_empty(path));
  std::string line;
  std::getline(text, line);
  const std::vector<std::string> head = split_line(line);
  const auto column = std::ranges::find(head, "max_K") - head.begin();
  if (column == std::ssize(head)) return {};
  std::vector<std::string> last;
  while (std::getline(text, line)) {
    std::vector<std::string> cells = split_line(line);
    if (std::ssize(cells) > column && !cells[static_cast<std::size_t>(column)].empty())
      last = std::move(cells);
  }
  Row row;
  for (std::size_t i = 0; i < std::min(head.size(), last.size()); ++i)
    if (const auto number = parse_real(last[i]); number.is_number && number.problem.empty())
      row[head[i]] = number.value;
  return row;
}

// Of "performance.step_s"; null where there is none, or no single value.
Json value_at(const Json& run, const std::string& path) {
  const Json* at = &run;
  for (const std::string& part : split_key(path)) {
    std::size_t index = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (at->is_object() && at->contains(part)) {
      at = &(*at)[part];
    } else if (at->is_array() && problem == std::errc() && end == part.data() + part.size() &&
               index < at->size()) {
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at->is_structured() ? Json(nullptr) : *at;
}

// As a number where it is one.
Json setting_value(const StudyCase& each, const std::string& key) {
  const std::string text = value_text(each, key);
  const auto number = parse_real(text);
  return number.is_number && number.problem.empty() ? Json(number.value) : Json(text);
}

std::string plain(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  return value.dump();
}
std::string csv_cell(const Json& value) {
  std::string text = plain(value);
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 2)) text.insert(at, 1, '"');
  return fmt::format("\"{}\"", text);
}
std::string table_cell(const Json& value) {
  return value.is_number_float() ? fmt::format("{:.6g}", value.get<double>()) : escaped(plain(value));
}

// Numbers before words, and what is not known last.
bool comes_before(const Json& a, const Json& b) {
  const auto kind = [](const Json& v) { return v.is_number() ? 0 : v.is_null() ? 2 : 1; };
  if (kind(a) != kind(b)) return kind(a) < kind(b);
  return kind(a) == 0 ? a.get<double>() < b.get<double>() : plain(a) < plain(b);
}

class Collector {
 public:
  explicit Collector(const StudyDeck& deck) : deck_(deck) {
    columns_ = {"name"};
    columns_.insert(columns_.end(), deck.varied.begin(), deck.varied.end());
    for (const char* name : {"ranks", "state", "exit_code"}) add_column(name);  // ranks may vary
    if (deck.study.scaling.is_given())
      for (const char* name : scaling_columns()) add_column(name);
    for (const Column& column : run_columns()) add_column(column.name);
    for (const std::string& name : deck.study.report) add_column(name);  // paths within run.json
    add_column(deck.study.sort);
    for (const DeckCase& each : deck.cases) add(each);
    if (deck.study.scaling.is_given()) compare();
    for (std::size_t i = 0; i < rows_.size(); ++i) cases_[i]["values"] = values(rows_[i]);
  }

  Collection finish(const std::string& deck_path, std::optional<int> width) {
    result_.csv = csv();
    Json whole = {{"schema", "isotherm-study"},
                  {"schema_version", 1},
                  {"version", build_info().version},
                  {"git_revision", build_info().git_revision},
                  {"deck", deck_path},
                  {"collected", utc_now()},
                  {"varied", deck_.varied},
                  {"units", units()},
                  {"columns", columns_},
                  {"report", reported()},
                  {"sort", text_or_null(deck_.study.sort)},
                  {"cases", std::move(cases_)}};
    if (deck_.study.scaling.is_given()) whole["scaling"] = scaling_json();
    result_.json = file_text(whole);
    result_.table = table(width);
    for (const ScalingSeries& each : series_)
      result_.table += "\n" + scaling_text(deck_.study.scaling.kind, label_of(each), each, scaled_, width);
    return std::move(result_);
  }

 private:
  void add_column(const std::string& name) {
    if (!name.empty() && std::ranges::find(columns_, name) == columns_.end()) columns_.push_back(name);
  }

  void add(const DeckCase& each) {
    const CaseFiles files(each);
    const CaseLook look = look_at(each);
    Json run = Json::parse(file_text_or_empty(files.run_record()), nullptr, false);
    // An earlier deck's numbers are not those of this case.
    if (!run.is_object() || look.state == CaseState::changed) run = Json::object();
    Row row;
    if (!run.empty()) row = last_diagnostics(files.history());
    row["name"] = each.study.name;
    Json settings = Json::object();
    for (const std::string& key : deck_.varied) row[key] = settings[key] = setting_value(each.study, key);
    row["ranks"] = each.study.ranks;
    row["state"] = word(look.state);
    row["exit_code"] = value_or_null(look.exit_code);
    for (const Column& column : run_columns())
      if (!column.path.empty()) row[column.name] = value_at(run, column.path);
    for (const std::string& name : columns_)
      if (!row.contains(name) && name.find('.') != name.npos) row[name] = value_at(run, name);
    row["message"] = text_or_null(look.message);
    // Those before the checkpoint from which it went on, too: as many as a case that was never stopped.
    const Json before = value_at(run, "continuation.restarted_from.sweep");
    if (row["sweeps"].is_number_integer() && before.is_number_integer())
      row["sweeps"] = row["sweeps"].get<std::int64_t>() + before.get<std::int64_t>();
    judge(look);
    if (deck_.study.scaling.is_given()) add_scaled(each, look, row);
    cases_.push_back({{"name", each.study.name},
                      {"settings", std::move(settings)},
                      {"ranks", each.study.ranks},
                      {"state", word(look.state)},
                      {"exit_code", value_or_null(look.exit_code)},
                      {"message", row["message"]},
                      {"directory", each.config.output.directory},
                      {"values", nullptr},  // when all are known
                      {"run", run.empty() ? Json(nullptr) : std::move(run)}});
    rows_.push_back(std::move(row));
  }

  void add_scaled(const DeckCase& each, const CaseLook& look, Row& row) {
    const auto number = [&](const char* name) {
      return row[name].is_number() ? std::optional(row[name].get<double>()) : std::nullopt;
    };
    row["cells"] = extent_text(each.config.grid.cells);
    scaled_.push_back({.name = each.study.name,
                       .series = each.study.series,
                       .ranks = each.study.ranks,
                       .state = word(look.state),
                       .cells = each.config.grid.cells,
                       .step_s = look.is_finished() ? number("step_s") : std::nullopt,
                       .hidden_percent = number("halo_hidden_percent"),
                       .sweeps = number("sweeps").value_or(0),
                       .fingerprint = plain(row["fingerprint"])});
  }

  void compare() {
    series_ = scaling_series(scaled_);
    for (const ScalingSeries& each : series_) {
      if (!each.disagreement.empty() && result_.disagreement.empty())
        result_.disagreement = each.disagreement;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (scaled_[i].series != scaled_[each.first].series) continue;
        const std::optional<Speed> speed = speed_of(scaled_[i], each, scaled_);
        rows_[i]["speedup"] = speed ? Json(speed->speedup) : Json(nullptr);
        rows_[i]["efficiency_percent"] = speed ? Json(speed->efficiency_percent) : Json(nullptr);
        rows_[i]["scaling_base"] = base_text(each);
      }
    }
  }

  // What the cases of a series have in common: "solver.kernel openmp".
  std::string label_of(const ScalingSeries& series) const {
    std::string label;
    for (const std::string& key : deck_.varied)
      if (!is_of_case(key))
        label += fmt::format("{}{} {}", label.empty() ? "" : ", ", key,
                             value_text(deck_.cases[series.first].study, key));
    return label;
  }

  Json scaling_json() const {
    Json all = Json::array();
    for (const ScalingSeries& each : series_) {
      Json rows = Json::array();
      for (const ScalingRow& row : each.rows) {
        const ScaledCase* run = row.middle ? &scaled_[*row.middle] : nullptr;
        rows.push_back(
            {{"ranks", row.ranks},
             {"cells", {row.cells.x, row.cells.y, row.cells.z}},
             {"runs", row.runs},
             {"case", run ? Json(run->name) : Json(nullptr)},
             {"step_s", run ? value_or_null(run->step_s) : Json(nullptr)},
             {"speedup", row.speed ? Json(row.speed->speedup) : Json(nullptr)},
             {"efficiency_percent", row.speed ? Json(row.speed->efficiency_percent) : Json(nullptr)},
             {"halo_hidden_percent", run ? value_or_null(run->hidden_percent) : Json(nullptr)},
             {"remark", text_or_null(row.remark)}});
      }
      all.push_back({{"label", label_of(each)},
                     {"base", base_text(each)},
                     {"disagreement", text_or_null(each.disagreement)},
                     {"rows", std::move(rows)}});
    }
    return {{"kind", word(deck_.study.scaling.kind)},
            {"repeats", deck_.study.scaling.repeats},
            {"series", std::move(all)}};
  }

  Json values(const Row& row) const {
    Json all = Json::object();
    for (const std::string& name : columns_) all[name] = value_of(row, name);
    return all;
  }

  void judge(const CaseLook& look) {
    if (look.is_finished()) ++result_.finished;
    const bool failed = look.state == CaseState::failed;
    if (failed) ++result_.failed;
    if (failed && result_.failed == 1) result_.exit_code = code_of(*look.exit_code);
    if (result_.failed > 0) return;
    if (!look.is_finished()) result_.exit_code = ExitCode::stopped;
    if (look.state == CaseState::not_converged && result_.exit_code == ExitCode::done)
      result_.exit_code = ExitCode::not_converged;
  }
  // A case that a signal ended, or that ended as a launcher ends, has none of ours.
  static ExitCode code_of(int code) {
    return code > 1 && code < 128 ? static_cast<ExitCode>(code) : ExitCode::internal;
  }

  static Json value_of(const Row& row, const std::string& name) {
    const auto found = row.find(name);
    return found == row.end() ? Json(nullptr) : found->second;
  }

  // A varied key with its unit; the others have it in their names.
  std::string head_of(const std::string& name) const {
    const std::string unit = unit_of(name);
    return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
  }
  std::string unit_of(const std::string& name) const {
    const bool varies = std::ranges::find(deck_.varied, name) != deck_.varied.end();
    return varies && !is_of_case(name) ? find_key_at(name).unit : "";
  }
  Json units() const {
    Json all = Json::object();
    for (const std::string& key : deck_.varied)
      if (const std::string unit = unit_of(key); !unit.empty()) all[key] = unit;
    return all;
  }

  std::string csv() const {
    std::string text;
    for (const std::string& name : columns_) text += (text.empty() ? "" : ",") + csv_cell(head_of(name));
    text += "\n";
    for (const Row& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < columns_.size(); ++i)
        line += (i ? "," : "") + csv_cell(value_of(row, columns_[i]));
      text += line + "\n";
    }
    return text;
  }

  // What was asked for; else what varies, and what most ask for where a case has it.
  std::vector<std::string> reported() const {
    if (!deck_.study.report.empty()) return deck_.study.report;
    std::vector<std::string> names{"name", "state"};
    for (const char* name : {"step_s", "copy_bandwidth_share_percent", "residual_K", "max_error_K", "max_K"})
      if (std::ranges::any_of(rows_, [&](const Row& row) { return !value_of(row, name).is_null(); }))
        names.emplace_back(name);
    return names;
  }

  std::string table(std::optional<int> width) const {
    const std::vector<std::string> names = reported();
    std::vector<Row> rows = rows_;
    if (!deck_.study.sort.empty())
      std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
        return comes_before(value_of(a, deck_.study.sort), value_of(b, deck_.study.sort));
      });
    TextTable text{"", {{}}};
    for (const std::string& name : names) text.rows.front().push_back(head_of(name));
    for (const std::string& name : names) {
      const bool is_text =
          std::ranges::any_of(rows, [&](const Row& row) { return value_of(row, name).is_string(); });
      text.alignment += is_text ? 'l' : 'r';
    }
    for (const Row& row : rows) {
      std::vector<std::string> cells;
      for (const std::string& name : names) cells.push_back(table_cell(value_of(row, name)));
      text.rows.push_back(std::move(cells));
    }
    return text.text(0, width);
  }

  const StudyDeck& deck_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
  std::vector<ScaledCase> scaled_;  // of a deck with scaling
  std::vector<ScalingSeries> series_;
  Json cases_ = Json::array();
  Collection result_;
};

}  // namespace

Collection collect(const StudyDeck& deck, const std::string& deck_path, std::optional<int> width) {
  return Collector(deck).finish(deck_path, width);
}

}  // namespace isotherm
