// Floor plans: `power: {floorplan: ev6.csv}` of a box lays out the blocks of a file in it, each a box with a
// power of its own. They take its place before the deck is read, so that nothing else knows floor plans.
//
//     name,x,y,width,height,power           m, from the box's corner `from`; W
//     Dcache,0.0080,0.0098,0.0031,0.0026,10.3
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> columns{"name", "x", "y", "width", "height", "power"};
constexpr std::size_t most_blocks = 4000;  // that have room in the resolved deck
constexpr double rounding = 1e-9;  // of the box: blocks of a plan in decimals may end that far beyond it

struct FloorplanError {
  std::string problem;  // "problem; advice"
};
template <class... Args>
[[noreturn]] void fail_plan(fmt::format_string<Args...> problem, Args&&... args) {
  throw FloorplanError{fmt::format(problem, std::forward<Args>(args)...)};
}

struct PlanBlock {
  std::array<double, 2> from, size;  // m
  double power;                      // W
};

// `where`: "ev6.csv, line 3".
PlanBlock block_of(const std::vector<std::string>& cells,
                   const std::array<std::size_t, columns.size()>& places, const std::string& where) {
  if (cells.size() <= std::ranges::max(places)) fail_plan("{} has {} values only", where, cells.size());
  std::array<double, columns.size()> value{};
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const std::string& text = cells[places[i]];
    const ParsedNumber number = parse_number(text);
    if (!number.is_number || !number.problem.empty() || !std::isfinite(number.value))
      fail_plan("'{}' is not a number ({}, {}); write numbers alone", printable(text), where, columns[i]);
    value[i] = number.value;
  }
  if (!(value[3] > 0 && value[4] > 0))
    fail_plan("block '{}' is {} m wide and {} m high ({}); give both above 0", printable(cells[places[0]]),
              value[3], value[4], where);
  return {{value[1], value[2]}, {value[3], value[4]}, value[5]};
}

// Those of a power, within a box of this size.
std::vector<PlanBlock> read_plan(const std::string& path, const std::array<double, 2>& size) {
  std::ifstream file(path);
  if (!file) fail_plan("{} cannot be read; give a file of values separated by commas", path);
  std::vector<PlanBlock> blocks;
  std::vector<std::string> names;  // the first line
  std::array<std::size_t, columns.size()> places{};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::vector<std::string> cells = comma_separated(line);
    if (cells.empty() || (cells.size() == 1 && cells[0].empty()) || line[0] == '#') continue;
    if (names.empty()) {
      names = cells;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto at = std::ranges::find(names, columns[i]);
        if (at == names.end())
          fail_plan("{} has no column '{}'; its first line names {}", path, columns[i],
                    fmt::join(names, ", "));
        places[i] = static_cast<std::size_t>(at - names.begin());
      }
      continue;
    }
    const std::string where = fmt::format("{}, line {}", path, number);
    const PlanBlock block = block_of(cells, places, where);
    for (std::size_t a = 0; a < 2; ++a)
      if (block.from[a] < -rounding * size[a] || block.from[a] + block.size[a] > (1 + rounding) * size[a])
        fail_plan(
            "block '{}' reaches from {} to {} m along {}, and its box is {} m long ({}); use a larger box",
            printable(cells[places[0]]), block.from[a], block.from[a] + block.size[a], "xy"[a], size[a],
            where);
    if (block.power != 0) blocks.push_back(block);
    if (blocks.size() > most_blocks)
      fail_plan("{} has more than {} blocks with a power; join some", path, most_blocks);
  }
  if (names.empty()) fail_plan("{} is empty; its first line names {}", path, fmt::join(columns, ", "));
  return blocks;
}

const YamlNode* find_item(const YamlNode& map, std::string_view name) {
  const auto at = std::ranges::find(map.keys, name, &YamlKey::name);
  return at == map.keys.end() ? nullptr : &map.items[static_cast<std::size_t>(at - map.keys.begin())];
}

YamlNode scalar_at(const Place& place, std::string text) {
  return {.kind = YamlNode::Kind::scalar, .place = place, .text = std::move(text)};
}

std::array<double, 3> corner_of(const YamlNode& source, std::string_view name) {
  const YamlNode* const node = find_item(source, name);
  std::array<double, 3> corner{};
  const bool is_corner = node && node->kind == YamlNode::Kind::list && node->items.size() == 3;
  for (std::size_t a = 0; a < 3; ++a) {
    const ParsedNumber number = parse_number(is_corner ? node->items[a].text : "");
    if (!number.is_number || !number.problem.empty())
      fail_plan("a floor plan lies in a box that does not move; write {}: [x, y, z], three numbers", name);
    corner[a] = number.value;
  }
  return corner;
}

// A source of each block. `folder`: where a relative path starts.
std::vector<YamlNode> laid_out(const YamlNode& source, const YamlNode& power, const std::string& folder) {
  const YamlNode* const shape = find_item(source, "shape");
  if (!shape || shape->text != "box") fail_plan("a floor plan lies in a box; write shape: box");
  const YamlNode& file = power.items[0];
  if (power.items.size() != 1 || file.kind != YamlNode::Kind::scalar)
    fail_plan("a floor plan is the name of a file and no more; write {{floorplan: FILE}}");
  const std::array<double, 3> from = corner_of(source, "from"), to = corner_of(source, "to");
  const std::string path = (fs::path(folder) / file.text).lexically_normal().string();
  std::vector<YamlNode> sources;
  for (const PlanBlock& block : read_plan(path, {to[0] - from[0], to[1] - from[1]})) {
    YamlNode& each = sources.emplace_back(source);
    const auto put = [&](std::string_view name, YamlNode value) {
      each.items[static_cast<std::size_t>(std::ranges::find(each.keys, name, &YamlKey::name) -
                                          each.keys.begin())] = std::move(value);
    };
    const auto corner = [&](double x, double y, double z) {
      YamlNode list{.kind = YamlNode::Kind::list, .place = power.place};
      for (const double value : {x, y, z}) list.items.push_back(scalar_at(power.place, shortest(value)));
      return list;
    };
    const double x = from[0] + block.from[0], y = from[1] + block.from[1];
    put("from", corner(x, y, from[2]));
    put("to", corner(x + block.size[0], y + block.size[1], to[2]));
    put("power", scalar_at(power.place, shortest(block.power)));
    if (find_item(source, "mode")) continue;  // blocks share the cells that their edges cut
    each.keys.push_back({"mode", power.place});
    each.items.push_back(scalar_at(power.place, "add"));
  }
  return sources;
}

}  // namespace

void lay_out_floorplans(YamlNode& sources, Problems& problems) {
  std::vector<YamlNode> all;
  for (std::size_t i = 0; i < sources.items.size(); ++i) {
    YamlNode& source = sources.items[i];
    const YamlNode* const power = find_item(source, "power");
    if (!power || power->kind != YamlNode::Kind::map || !find_item(*power, "floorplan")) {
      all.push_back(std::move(source));
      continue;
    }
    try {
      std::ranges::move(laid_out(source, *power, fs::path(problems.file()).parent_path().string()),
                        std::back_inserter(all));
    } catch (const FloorplanError& error) {
      problems.add(power->place, fmt::format("sources.{}.power", i), error.problem);
    }
  }
  sources.items = std::move(all);
}

}  // namespace isotherm
