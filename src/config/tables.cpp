// Files of columns that a deck names: tables of values at times, and floor plans.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>

#include "config/reader.hpp"
#include "config/text.hpp"
#include "core/hash.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> problem, Args&&... args) {
  throw YamlError{{}, fmt::format(problem, std::forward<Args>(args)...)};  // the node's reader adds the place
}

double number_of(const std::string& text, const std::string& where) {
  const ParsedNumber number = parse_number(text);
  if (!number.is_number || !number.problem.empty() || !std::isfinite(number.value))
    fail("'{}' is not a number ({}); write numbers alone", printable(text), where);
  return number.value;
}

// The values of a line of a file: without the spaces and quotes around them.
std::vector<std::string> comma_separated(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) {
    constexpr std::string_view blanks = " \t\r";
    cell.erase(0, std::min(cell.find_first_not_of(blanks), cell.size()));
    cell.erase(cell.find_last_not_of(blanks) + 1);
  }
  return cells;
}

// Advice if the line is not UTF-8 text with commas: it is of a spreadsheet's own format, or in UTF-16.
std::string_view advice_on_form(std::string line) {
  const bool has_comma = line.find(',') != line.npos;
  const bool has_other = line.find_first_of(";\t") != line.npos;
  std::erase_if(line, [](char c) { return c == '\t' || c == '\r'; });
  const bool is_text = printable(line, line.size()) == line;
  return is_text && (has_comma || !has_other) ? "" : "; save it as UTF-8 with commas";
}

// Calls use(cells, where) for each line that is neither empty nor a comment, with the cells of `columns`,
// which the first line names. `where`: "trace.csv, line 3". Returns whether there is a first line.
bool read_columns(const std::string& path, const std::vector<std::string>& columns,
                  const std::function<void(const std::vector<std::string>&, const std::string&)>& use) {
  std::ifstream file(path);
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (!file || is_folder)
    fail("{} cannot be read{}; give a file of values separated by commas", path,
         is_folder ? " (it is a folder)" : "");
  std::vector<std::size_t> places;
  const auto is_given = [](const std::string& cell) { return !cell.empty(); };
  std::size_t named = 0;  // columns
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // from spreadsheets; not part of a name
    if (number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    const std::vector<std::string> cells = comma_separated(line);
    if (std::ranges::none_of(cells, is_given) || line[line.find_first_not_of(" \t")] == '#') continue;
    if (places.empty()) {
      for (const std::string& name : columns) {
        const auto at = std::ranges::find(cells, name);
        if (at == cells.end())
          fail("{} has no column '{}'; its first line names {}{}", path, printable(name),
               printable(fmt::format("{}", fmt::join(cells, ", ")), 200), advice_on_form(line));
        if (std::ranges::count(cells, name) > 1)
          fail("{} names column '{}' twice; keep one", path, printable(name));
        places.push_back(static_cast<std::size_t>(at - cells.begin()));
      }
      named = cells.size();
      continue;
    }
    const std::string where = fmt::format("{}, line {}", path, number);
    if (cells.size() <= std::ranges::max(places)) fail("{} has {} values only", where, cells.size());
    if (std::ranges::any_of(std::span(cells).subspan(std::min(named, cells.size())), is_given))
      fail("{} has more values than the first line names; write 1.5, not 1,5", where);
    std::vector<std::string> wanted;
    for (const std::size_t place : places) wanted.push_back(cells[place]);
    use(wanted, where);
  }
  if (file.bad()) fail("{} cannot be read to its end; copy it to a sound disk", path);
  return !places.empty();
}

// Tables: values at times, in place of a formula of t.
//
//     {table: trace.csv, time: t_s, column: P_W, interpolation: step}      columns of a file, by their names
//     {table: [[0, 20], [1.5, 80]]}                                        [s, value], linear between them

constexpr std::size_t most_knots = 1'000'000;  // of a file
constexpr std::size_t most_pairs = 500;        // that fit on a line of the resolved deck

std::vector<TableKnot> read_file(const std::string& path, const std::string& time,
                                 const std::string& column) {
  std::vector<TableKnot> knots;
  read_columns(path, {time, column}, [&](const std::vector<std::string>& cells, const std::string& where) {
    knots.push_back({number_of(cells[0], fmt::format("{}, {}", where, printable(time))),
                     number_of(cells[1], fmt::format("{}, {}", where, printable(column)))});
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

// Floor plans: `power: {floorplan: ev6.csv}` of a box places the blocks of a file in the box, each a box with
// its own power. They replace the source before the deck is read, so that no other code knows floor plans.
//
//     name,x,y,width,height,power           m, from the box's corner `from`; W
//     Dcache,0.0080,0.0098,0.0031,0.0026,10.3
//     core0,0,0,0.004,0.004,p0              with trace: FILE, its column p0: a table like any other

constexpr std::size_t most_blocks = 4000;  // that fit in the resolved deck
constexpr double rounding = 1e-9;  // of the box: how far blocks may end beyond it, as decimals are rounded

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

struct PlannedBlock {
  std::string name, power, where;        // as written; where: "ev6.csv, line 3"
  std::array<double, 2> from{}, size{};  // m, along x and y
};

PlannedBlock read_block(const std::vector<std::string>& cells, const std::string& where,
                        const std::array<double, 2>& box) {
  PlannedBlock block{cells[0], cells[5], where};
  const auto number = [&](std::size_t i, std::string_view column) {
    return number_of(cells[i], fmt::format("{}, {}", where, column));
  };
  block.from = {number(1, "x"), number(2, "y")};
  block.size = {number(3, "width"), number(4, "height")};
  for (std::size_t a = 0; a < 2; ++a) {
    const double begin = block.from[a], end = begin + block.size[a];
    if (!(block.size[a] > 0))
      fail("block '{}' is {} m long along {} ({}); give it a size above 0", printable(block.name),
           block.size[a], "xy"[a], where);
    if (begin < -rounding * box[a] || end > (1 + rounding) * box[a])
      fail("block '{}' reaches from {} to {} m along {}, and its box is {} m long ({}); use a larger box",
           printable(block.name), begin, end, "xy"[a], box[a], where);
  }
  return block;
}

std::vector<PlannedBlock> read_blocks(const std::string& path, const std::array<double, 2>& box) {
  std::vector<PlannedBlock> blocks;
  std::map<std::string, std::string> places;  // by name
  const std::vector<std::string> columns{"name", "x", "y", "width", "height", "power"};
  const auto add = [&](const std::vector<std::string>& cells, const std::string& where) {
    blocks.push_back(read_block(cells, where, box));
    if (const auto [first, is_new] = places.emplace(cells[0], where); !is_new)
      fail("block '{}' appears twice ({}, and before in {}); give each a name of its own",
           printable(cells[0]), where, first->second);
    if (blocks.size() > most_blocks) fail("{} has more than {} blocks; join some", path, most_blocks);
  };
  if (!read_columns(path, columns, add))
    fail("{} is empty; its first line names {}", path, fmt::join(columns, ", "));
  return blocks;
}

// A warning if blocks overlap, else empty.
std::string overlapping(const std::vector<PlannedBlock>& blocks, const std::array<double, 2>& box) {
  std::string first;
  int more = -1;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const PlannedBlock &one = blocks[j], &other = blocks[i];
      const auto both = [&](std::size_t a) {
        const double low = std::max(one.from[a], other.from[a]);
        return std::min(one.from[a] + one.size[a], other.from[a] + other.size[a]) - low > rounding * box[a];
      };
      if (!both(0) || !both(1) || ++more > 0) continue;
      first = fmt::format("blocks '{}' and '{}' overlap ({}; {}", printable(one.name), printable(other.name),
                          one.where, other.where);
    }
  if (first.empty()) return first;
  return fmt::format("{}{}); correct the plan if their powers are not meant to add there", first,
                     more > 0 ? fmt::format("; {} more pairs", more) : "");
}

// The power of a block as a deck writes it: a number, or a table.
YamlNode power_of(const PlannedBlock& block, const YamlNode& plan, const std::string& folder) {
  const std::string where = block.where + ", power";
  if (parse_number(block.power).is_number)
    return yaml_scalar(shortest(number_of(block.power, where)), plan.place);
  if (!plan.find("trace"))
    fail("'{}' is not a number ({}); write numbers alone, or trace: FILE, which has it as a column",
         printable(block.power), where);
  YamlNode table{.kind = YamlNode::Kind::map, .place = plan.place};
  const auto add = [&](const char* key, const std::string& text) {
    table.add(key, yaml_scalar(text, plan.place));
  };
  const YamlNode *const time = plan.find("time"), *const between = plan.find("interpolation");
  add("table", plan.find("trace")->text);
  add("time", time ? time->text : "time");
  add("column", block.power);
  if (between) add("interpolation", between->text);
  try {
    read_table(table, folder, true);
  } catch (const YamlError& error) {
    fail("{} ({})", error.problem, where);
  }
  return table;
}

// Rejects a map that is written in place of a value and has a key twice.
void check_repeats(const YamlNode& map) {
  for (std::size_t i = 0; i < map.keys.size(); ++i)
    if (const std::string& name = map.keys[i].name; map.find(name) != &map.items[i])
      fail("'{}' appears twice; keep one", printable(name));
}

void check_plan(const YamlNode& source, const YamlNode& plan) {
  const YamlNode* const shape = source.find("shape");
  if (!shape || shape->text != "box") fail("a floor plan lies in a box; write shape: box");
  constexpr std::array<std::string_view, 4> keys{"floorplan", "trace", "time", "interpolation"};
  check_repeats(plan);
  for (std::size_t i = 0; i < plan.keys.size(); ++i)
    if (std::ranges::count(keys, plan.keys[i].name) == 0 || plan.items[i].kind != YamlNode::Kind::scalar)
      fail("'{}' is no part of a floor plan; write {}, each with a word", printable(plan.keys[i].name),
           fmt::join(keys, ", "));
}

struct BlockSource {
  YamlNode source;
  std::string block;  // its name
};
// One source for each block with a power. `key`: that of the plan.
std::vector<BlockSource> laid_out(const YamlNode& source, const YamlNode& plan, const std::string& key,
                                  Problems& problems) {
  check_plan(source, plan);
  const fs::path folder = fs::path(problems.file()).parent_path();
  const std::array<double, 3> low = corner_of(source, "from"), high = corner_of(source, "to");
  const std::array<double, 2> box{high[0] - low[0], high[1] - low[1]};
  const std::string path = (folder / plan.find("floorplan")->text).lexically_normal().string();
  const std::vector<PlannedBlock> blocks = read_blocks(path, box);
  if (const std::string found = overlapping(blocks, box); !found.empty())
    problems.warn(plan.place, key, "{}", found);
  const auto corner = [&](const std::array<double, 3>& place) {
    return yaml_triple([&](int axis) { return shortest(place[axis]); }, plan.place);
  };
  std::vector<BlockSource> sources;
  for (const PlannedBlock& block : blocks) {
    const YamlNode power = power_of(block, plan, folder);
    if (power.kind == YamlNode::Kind::scalar && parse_number(power.text).value == 0) continue;
    std::array<double, 3> from = low, to = high;
    for (std::size_t a = 0; a < 2; ++a) {
      from[a] = low[a] + block.from[a];
      to[a] = from[a] + block.size[a];
    }
    YamlNode& each = sources.emplace_back(BlockSource{source, block.name}).source;
    *each.find("from") = corner(from);
    *each.find("to") = corner(to);
    *each.find("power") = power;
    // Blocks share the cells that their edges cut.
    if (!source.find("mode")) each.add("mode", yaml_scalar("add", plan.place));
  }
  return sources;
}

// Sets `contents` to the hash of the table, or checks that the table has this hash.
void check_contents(const std::string& file, const std::vector<TableKnot>& knots, std::string& contents) {
  const std::span<const TableKnot> all(knots);
  const std::string found =
      contents_text(hash_of({reinterpret_cast<const char*>(all.data()), all.size_bytes()}));
  if (!contents.empty() && contents != found)
    fail(
        "{} holds other values than when this deck was resolved ({}, now {}); restore it, or remove contents",
        file, printable(contents), found);
  contents = found;
}

}  // namespace

Expression read_table(const YamlNode& node, const std::string& folder, bool reads_file) {
  const YamlNode* const table = node.find("table");
  std::string time, column, contents, interpolation = "linear";
  const std::map<std::string_view, std::string*> texts{
      {"time", &time}, {"column", &column}, {"interpolation", &interpolation}, {"contents", &contents}};
  check_repeats(node);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& name = node.keys[i].name;
    if (name == "table") continue;
    if (!texts.contains(name) || node.items[i].kind != YamlNode::Kind::scalar)
      fail("'{}' is no part of a table; write table, time, column, interpolation", printable(name));
    *texts.at(name) = node.items[i].text;
  }
  if (!table || (table->kind == YamlNode::Kind::scalar && table->text.empty()))
    fail("a map is given where a number, a formula or a table is expected; write table: FILE");
  if (interpolation != "linear" && interpolation != "step")
    fail("interpolation '{}' is unknown; use linear or step", printable(interpolation));
  const bool is_list = table->kind == YamlNode::Kind::list;
  const bool names_columns = !time.empty() && !column.empty();
  if (is_list ? !time.empty() || !column.empty() || !contents.empty() : !names_columns)
    fail("a file needs the names of its columns (time and column), a list has none");
  // Absolute, so that the resolved deck finds it from anywhere.
  const std::string file =
      is_list ? "" : fs::absolute(fs::path(folder) / table->text).lexically_normal().string();
  std::vector<TableKnot> knots{{0, 0}};
  if (is_list || reads_file) knots = is_list ? read_list(*table) : read_file(file, time, column);
  if (knots.empty()) fail("the table is empty; give a time and a value at least");
  const auto falls = [](const TableKnot& a, const TableKnot& b) { return !(a.time < b.time); };
  if (const auto bad = std::ranges::adjacent_find(knots, falls); bad != knots.end())
    fail("the time {} s does not follow {} s{}; times must rise", bad[1].time, bad[0].time,
         is_list ? "" : " in " + file);
  const bool steps = interpolation == "step";
  if (!is_list && reads_file) check_contents(file, knots, contents);
  const std::string source = is_list ? yaml_text(*table)
                                     : fmt::format("{}{}, time: {}, column: {}", yaml_in_quotes(file),
                                                   contents.empty() ? "" : ", contents: " + contents,
                                                   yaml_in_quotes(time), yaml_in_quotes(column));
  return {knots, steps, fmt::format("{{table: {}{}}}", source, steps ? ", interpolation: step" : "")};
}

void lay_out_floorplans(YamlNode& sources, Problems& problems) {
  std::vector<YamlNode> all;
  SourcesOfDeck numbers;
  for (std::size_t i = 0; i < sources.items.size(); ++i) {
    YamlNode& source = sources.items[i];
    const YamlNode* const power = source.find("power");
    const std::string key = fmt::format("sources.{}.power", i);
    if (!power || power->kind != YamlNode::Kind::map || !power->find("floorplan")) {
      all.push_back(std::move(source));
      numbers.push_back({i, {}});
      continue;
    }
    try {
      for (BlockSource& each : laid_out(source, *power, key, problems)) {
        all.push_back(std::move(each.source));
        numbers.push_back({i, each.block});
      }
    } catch (const YamlError& error) {
      problems.add(power->place, key, error.problem);
    }
  }
  sources.items = std::move(all);
  problems.number_sources(std::move(numbers));
}

}  // namespace isotherm
