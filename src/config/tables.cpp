// Files of columns that a deck names: tables of values at times, and floor plans.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> problem, Args&&... args) {
  throw YamlError{{}, fmt::format(problem, std::forward<Args>(args)...)};  // who reads the node places it
}

double number_of(const std::string& text, const std::string& where) {
  const ParsedNumber number = parse_number(text);
  if (!number.is_number || !number.problem.empty() || !std::isfinite(number.value))
    fail("'{}' is not a number ({}); write numbers alone", printable(text), where);
  return number.value;
}

// Calls use(cells, where) with the cells of these columns, which the first line names, of each line that is
// not empty and no comment. `where`: "trace.csv, line 3". Is there a first line?
bool read_columns(const std::string& path, const std::vector<std::string>& columns,
                  const std::function<void(const std::vector<std::string>&, const std::string&)>& use) {
  std::ifstream file(path);
  if (!file) fail("{} cannot be read; give a file of values separated by commas", path);
  std::vector<std::size_t> places;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::vector<std::string> cells = comma_separated(line);
    if (cells.empty() || (cells.size() == 1 && cells[0].empty()) || line[0] == '#') continue;
    if (places.empty()) {
      for (const std::string& name : columns) {
        const auto at = std::ranges::find(cells, name);
        if (at == cells.end())
          fail("{} has no column '{}'; its first line names {}", path, printable(name),
               fmt::join(cells, ", "));
        places.push_back(static_cast<std::size_t>(at - cells.begin()));
      }
      continue;
    }
    const std::string where = fmt::format("{}, line {}", path, number);
    if (cells.size() <= std::ranges::max(places)) fail("{} has {} values only", where, cells.size());
    std::vector<std::string> wanted;
    for (const std::size_t place : places) wanted.push_back(cells[place]);
    use(wanted, where);
  }
  return !places.empty();
}

// Tables: values at times, in place of a formula of t.
//
//     {table: trace.csv, time: t_s, column: P_W, interpolation: step}      columns of a file, by their names
//     {table: [[0, 20], [1.5, 80]]}                                        [s, value], linear between them

constexpr std::size_t most_knots = 1'000'000;  // of a file
constexpr std::size_t most_pairs = 500;        // that have room on a line of the resolved deck

std::vector<TableKnot> read_file(const std::string& path, const std::string& time,
                                 const std::string& column) {
  std::vector<TableKnot> knots;
  read_columns(path, {time, column}, [&](const std::vector<std::string>& cells, const std::string& where) {
    knots.push_back({number_of(cells[0], where), number_of(cells[1], where)});
    if (knots.size() > most_knots) fail("{} has more than {} lines; leave some out", path, most_knots);
  });
  return knots;
}

std::vector<TableKnot> read_list(const YamlNode& list) {
  if (list.items.size() > most_pairs)
    fail("{} pairs are more than {}; put them in a file", list.items.size(), most_pairs);
  std::vector<TableKnot> knots;
  for (const YamlNode& pair : list.items) {
    if (pair.kind != YamlNode::Kind::list || pair.items.size() != 2)
      fail("a table is a list of [time, value]; write [[0, 20], [1.5, 80]]");
    const std::string where = fmt::format("entry {}", knots.size() + 1);
    knots.push_back({number_of(pair.items[0].text, where), number_of(pair.items[1].text, where)});
  }
  return knots;
}

// Floor plans: `power: {floorplan: ev6.csv}` of a box lays out the blocks of a file in it, each a box with a
// power of its own. They take its place before the deck is read, so that nothing else knows floor plans.
//
//     name,x,y,width,height,power           m, from the box's corner `from`; W
//     Dcache,0.0080,0.0098,0.0031,0.0026,10.3

constexpr std::size_t most_blocks = 4000;  // that have room in the resolved deck
constexpr double rounding = 1e-9;  // of the box: blocks of a plan in decimals may end that far beyond it

std::array<double, 3> corner_of(const YamlNode& source, std::string_view name) {
  const YamlNode* const node = source.find(name);
  std::array<double, 3> corner{};
  const bool is_corner = node && node->kind == YamlNode::Kind::list && node->items.size() == 3;
  for (std::size_t a = 0; a < 3; ++a) {
    const ParsedNumber number = parse_number(is_corner ? node->items[a].text : "");
    if (!number.is_number || !number.problem.empty())
      fail("a floor plan lies in a box that does not move; write {}: [x, y, z], three numbers", name);
    corner[a] = number.value;
  }
  return corner;
}

// A source of each block that has a power. `folder`: where a relative path starts.
std::vector<YamlNode> laid_out(const YamlNode& source, const YamlNode& power, const std::string& folder) {
  const YamlNode* const shape = source.find("shape");
  if (!shape || shape->text != "box") fail("a floor plan lies in a box; write shape: box");
  const YamlNode& file = power.items[0];
  if (power.items.size() != 1 || file.kind != YamlNode::Kind::scalar)
    fail("a floor plan is the name of a file and no more; write {{floorplan: FILE}}");
  const std::array<double, 3> low = corner_of(source, "from"), high = corner_of(source, "to");
  const std::string path = (fs::path(folder) / file.text).lexically_normal().string();
  const std::vector<std::string> columns{"name", "x", "y", "width", "height", "power"};
  std::vector<YamlNode> sources;
  const auto corner = [&](const std::array<double, 3>& place) {
    return yaml_triple([&](int axis) { return shortest(place[axis]); }, power.place);
  };
  const auto add = [&](const std::vector<std::string>& cells, const std::string& where) {
    std::array<double, 6> value{};  // by column
    for (std::size_t i = 1; i < columns.size(); ++i)
      value[i] = number_of(cells[i], fmt::format("{}, {}", where, columns[i]));
    std::array<double, 3> from = low, to = high;
    for (std::size_t a = 0; a < 2; ++a) {
      const double box = high[a] - low[a], begin = value[1 + a], size = value[3 + a], end = begin + size;
      if (!(size > 0))
        fail("block '{}' is {} m long along {} ({}); give it a size above 0", printable(cells[0]), size,
             "xy"[a], where);
      if (begin < -rounding * box || end > (1 + rounding) * box)
        fail("block '{}' reaches from {} to {} m along {}, and its box is {} m long ({}); use a larger box",
             printable(cells[0]), begin, end, "xy"[a], box, where);
      from[a] = low[a] + begin;
      to[a] = from[a] + size;
    }
    if (value[5] == 0) return;
    YamlNode& each = sources.emplace_back(source);
    *each.find("from") = corner(from);
    *each.find("to") = corner(to);
    *each.find("power") = yaml_scalar(shortest(value[5]), power.place);
    if (!source.find("mode")) {  // blocks share the cells that their edges cut
      each.keys.push_back({"mode", power.place});
      each.items.push_back(yaml_scalar("add", power.place));
    }
    if (sources.size() > most_blocks)
      fail("{} has more than {} blocks with a power; join some", path, most_blocks);
  };
  if (!read_columns(path, columns, add))
    fail("{} is empty; its first line names {}", path, fmt::join(columns, ", "));
  return sources;
}

}  // namespace

Expression read_table(const YamlNode& node, const std::string& folder) {
  const YamlNode* const table = node.find("table");
  std::string time, column, interpolation = "linear";
  const std::map<std::string_view, std::string*> texts{
      {"time", &time}, {"column", &column}, {"interpolation", &interpolation}};
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& name = node.keys[i].name;
    if (name == "table") continue;
    if (!texts.contains(name) || node.items[i].kind != YamlNode::Kind::scalar)
      fail("'{}' is no part of a table; write table, time, column, interpolation", printable(name));
    *texts.at(name) = node.items[i].text;
  }
  if (!table) fail("a map stands where a number, a formula or a table is wanted; write table: FILE");
  if (interpolation != "linear" && interpolation != "step")
    fail("interpolation '{}' is unknown; use linear or step", printable(interpolation));
  const bool is_list = table->kind == YamlNode::Kind::list;
  if (is_list != (time.empty() && column.empty()) || (!is_list && (time.empty() || column.empty())))
    fail("a file needs the names of its columns (time and column), a list has none");
  // Absolute, so that the resolved deck finds it from anywhere.
  const std::string file =
      is_list ? "" : fs::absolute(fs::path(folder) / table->text).lexically_normal().string();
  const std::vector<TableKnot> knots = is_list ? read_list(*table) : read_file(file, time, column);
  if (knots.empty()) fail("the table is empty; give a time and a value at least");
  const auto falls = [](const TableKnot& a, const TableKnot& b) { return !(a.time < b.time); };
  if (const auto bad = std::ranges::adjacent_find(knots, falls); bad != knots.end())
    fail("the time {} s does not follow {} s; times must rise", bad[1].time, bad[0].time);
  const bool steps = interpolation == "step";
  const std::string source = is_list ? yaml_text(*table)
                                     : fmt::format("{}, time: {}, column: {}", yaml_in_quotes(file),
                                                   yaml_in_quotes(time), yaml_in_quotes(column));
  return {knots, steps, fmt::format("{{table: {}{}}}", source, steps ? ", interpolation: step" : "")};
}

void lay_out_floorplans(YamlNode& sources, Problems& problems) {
  std::vector<YamlNode> all;
  for (std::size_t i = 0; i < sources.items.size(); ++i) {
    YamlNode& source = sources.items[i];
    const YamlNode* const power = source.find("power");
    if (!power || power->kind != YamlNode::Kind::map || !power->find("floorplan")) {
      all.push_back(std::move(source));
      continue;
    }
    try {
      std::ranges::move(laid_out(source, *power, fs::path(problems.file()).parent_path().string()),
                        std::back_inserter(all));
    } catch (const YamlError& error) {
      problems.add(power->place, fmt::format("sources.{}.power", i), error.problem);
    }
  }
  sources.items = std::move(all);
}

}  // namespace isotherm
