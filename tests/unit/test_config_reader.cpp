// Messages of the reader for wrong decks: place, key and problem; and values derived from correct decks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "config/grid_axes.hpp"
#include "config/key_table.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "config/reader.hpp"
#include "config/yaml_tree.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"
#include "support/repeat.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using namespace deck_text;

std::string with_cells(const std::string& cells) { return replaced(base, "[8, 9, 10]", cells); }

// For text after `base`, on line 10.
void expect_wrong(const std::string& text, const std::string& problem) {
  expect_problem(base + text, "10:" + problem);
}
void expect_wrong_outputs(const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [output, problem] : cases) expect_wrong("output: {" + output + "}\n", problem);
}

TEST(ConfigReader, TakesPlainDecks) {
  expect_good("\xEF\xBB\xBF" + base);
  std::string crlf;
  for (const char c : base) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_good(crlf);
  expect_good("---\n" + base + "...\n");
  expect_good(base + "solver:\nboundaries:\nsources:\n");
  expect_good(with_cells("&n 8") + "  check_interval: *n\n");
  expect_good(with_cells("[1.5e1, 64.0, +8]"));
  expect_good(with_cells("[2000000, 2000000, 2]"));
}

// faults/test_deck.py tests the most common mistakes, these tests the others.
TEST(ConfigReader, RejectsTextThatIsNoDeck) {
  expect_problem("~", "1:1: the deck is empty; write at least a grid");
  expect_problem("hello", "1:1: one value is given where a deck is expected; write keys of grid");
  expect_problem("- grid", "1:1: a list is given where a deck is expected; write keys of grid");
  expect_problem("grid: &a [*a]\n", "1:11: the alias is inside the value that it names");
  expect_problem("{[1]: 2}\n", "1:2: a key must be a word; remove the brackets, or write the");
}

TEST(ConfigReader, NamesUnknownKeysAndWhatWasMeant) {
  expect_wrong("solvr: {}\n", "1: solvr: unknown key; did you mean 'solver'?");
  expect_wrong("cells: 8\n", "1: cells: unknown key; did you mean 'grid.cells'?");
  expect_wrong("  precision: fp32\n", "3: problem.precision: unknown key");
  expect_wrong("solver.halo_width: 2\n", "1: solver.halo_width: unknown key");
  // The misspelt key is not also reported as missing.
  expect_problem(replaced(base, "steps", "setps"), "9:3: problem.setps: unknown key");
}

TEST(ConfigReader, ChecksNumbersAndWords) {
  const std::string at = "2:10: grid.cells: ";
  expect_problem(with_cells("'8'"), at + "'8' in quotes is text, not a number; write a whole number");
  expect_problem(with_cells("[8, 8]"), at + "has 2 entries, not three; write a whole number");
  expect_problem(with_cells("{x: 8}"), at + "a map is given where three are expected; write a whole number");
  expect_problem(with_cells("[8, 0, 8.5]"),
                 "2:14: grid.cells.1: 0 is out of range; write a whole number from 1 to 1e12\n"
                 "deck.yaml:2:17: grid.cells.2: '8.5' is not a whole number; write a whole number");
  expect_problem(with_cells("1e300"), at + "1e300 is out of range; write a whole number");
  expect_problem(replaced(base, "diffusivity: 1", "diffusivity: 0"),
                 "5:16: material.diffusivity: 0 is out of range; write a number from 1e-12");
  expect_wrong_outputs({{"history: yes", "19: output.history: unknown value 'yes'"}});
}

TEST(ConfigReader, ChecksWhichKeysApply) {
  expect_wrong("  norm: l2\n", "3: problem.norm: does not apply to kind");
  expect_problem(with_boundary("temperature"), "11:10: boundaries.x_min.value: is missing");
  expect_problem(with_boundary("{kind: convection, value: 3}"),
                 "11:3: boundaries.x_min.ambient: is missing; add ambient: 293\n"
                 "deck.yaml:11:3: boundaries.x_min.coefficient: is missing; add coefficient: 25\n"
                 "deck.yaml:11:29: boundaries.x_min.value: does not apply to kind convection");
  expect_problem(base + "sources: [{shape: sphere, value: 1, centre: [0, 0, 0], width: 1}]\n",
                 "4:1: material: sources in a transient problem need rho c");
}

TEST(ConfigReader, ChecksFormulas) {
  const auto formula = [](const std::string& text) {
    return with_boundary("{kind: temperature, value: " + text + "}");
  };
  std::string sum;
  for (int i = 0; i < 100; ++i) sum += "1+";
  expect_good(formula("'y>=0.5 ? min(1, z) : 20*sin(pi*y)*exp(-t)'"));
  for (const auto& [text, problem] :
       {std::pair<std::string, std::string>{
            "'max((1,2),y)'",
            "',' outside the arguments of a function (the decimal sign is '.') at character 7"},
        {"y=3", "'=' would assign ('==' compares) at character 2 of the formula 'y=3'"},
        {"1d3", "'1d3' is not a number; write 1e3"},
        {sum + "w+" + sum + "1",
         "unknown name 'w' at character 201 of the formula "
         "'...1+1+1+1+1+1+1+1+1+1+w+1+1+1+1+1+1+1+1+1+1+1+1+1+1+...'; it may use y, z, t, pi, and"}})
    expect_problem(formula(text), "11:37: boundaries.x_min.value: " + problem);
}

TEST(ConfigReader, CountsTheProblemsItDoesNotPrint) {
  std::string deck = base;
  for (int i = 0; i < 150; ++i) deck += "nonsense_" + std::to_string(i) + ": 1\n";
  const std::string text = problems(deck).first;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_EQ(text.substr(text.rfind('\n')), "\ndeck.yaml: 50 more problems; mend these first");
}

TEST(ConfigOverrides, AreCheckedLikeTheDeck) {
  const auto say = [](const std::vector<std::string>& overrides) { return problems(base, overrides); };
  EXPECT_EQ(say({"sources.0.value=3", "material.conductivity=1"}).first,
            "argument 1: sources.0.shape: is missing; add shape: constant");
  EXPECT_EQ(say({"problem.steps.x=3"}).first,
            "argument 1: problem.steps.x: '10' stands there, not a map; override it as a whole");
  EXPECT_EQ(say({"a..b=3"}).second, ExitCode::command_line);
  EXPECT_EQ(problems(base + "solver: {depth: 2}\n", {"solver.halo_width=2"}).first,
            "deck.yaml:10:10: solver.depth: is called halo_width now");
}

TEST(ConfigOverrides, ReplaceAddAndAppend) {
  const Config config = parse(
      base, {"initial.0.value=350", "initial.1={shape: gaussian, value: 5, centre: [0, 0, 0], width: 1}",
             "grid.cells.2=77", "output.directory=a=b", "boundaries.y_max=insulated"});
  EXPECT_EQ(config.initial[0].value, 350);
  ASSERT_EQ(config.initial.size(), 2u);
  EXPECT_EQ(config.initial[1].mode, RegionMode::add);
  EXPECT_EQ(config.grid.cells, (Int3{8, 9, 77}));
  EXPECT_EQ(config.output.directory, "a=b");
  EXPECT_EQ(parse(base, {"boundaries.x_min.kind=flux", "boundaries.x_min.value=3", "material.conductivity=1"})
                .boundaries[0]
                .value(0, 0, 0),
            3);
  EXPECT_EQ(config.at("initial.0.value"), "argument 1: initial.0.value");
}

TEST(ConfigPlaces, AreThoseOfTheKeyOrOfTheSectionAroundIt) {
  const Config config = parse(base);
  EXPECT_EQ(config.at("problem.steps"), "deck.yaml:9:10: problem.steps");
  EXPECT_EQ(config.at("problem.dt"), "deck.yaml:8:1: problem.dt");
  EXPECT_EQ(config.at("initial.0.value"), "deck.yaml:7:30: initial.0.value");
  EXPECT_EQ(config.at("initial.0.mode"), "deck.yaml:7:5: initial.0.mode");
  EXPECT_EQ(config.at("boundaries.x_min.value"), "deck.yaml:1:1: boundaries.x_min.value");
}

// Exact messages of the checks across keys, for decks whose single keys are correct.

std::string steady(const std::string& more) {
  return replaced(base, "  steps: 10\n", "  kind: steady\n") + more;
}

TEST(ConfigCrossChecks, Material) {
  const auto with = [](const std::string& material) {
    return replaced(base, "  diffusivity: 1\n", material);
  };
  expect_problem(with("  conductivity: 1\n"),
                 "4:1: material: a transient problem needs the diffusivity; add diffusivity, or");
  expect_problem(with("  conductivity: 1\n  density: 1\n"),
                 "6:3: material.density: has no effect without heat_capacity; add heat_capacity: 385");
  expect_problem(with("  diffusivity: 1\n  density: 1\n  heat_capacity: 1\n"),
                 "6:3: material.density: cannot be combined with diffusivity (on line 5); keep one");
  expect_problem(with_boundary("{kind: flux, value: 3}"), "4:1: material.conductivity: is missing");
  expect_good(replaced(base, "[8, 9, 10]", "8") + "  dt: 0.0026\n");  // the limit: 1/384 s
  expect_problem(replaced(base, "[8, 9, 10]", "8") + "  dt: 0.0027\n",
                 "10:7: problem.dt: 0.0027 s is above the stability limit of 0.0026");
}

TEST(ConfigCrossChecks, Steady) {
  expect_good(steady("  mean_temperature: 300\n"));
  const std::string boundary = "boundaries: {z_max: {kind: temperature, value: 300}}\n";
  expect_good(steady(boundary));
  expect_problem(steady("  mean_temperature: 300\n" + boundary), "10:21: problem.mean_temperature:");
  expect_problem(
      steady("boundaries: {z_max: {kind: temperature, value: 300 + t}}\n"),
      "10:14: boundaries.z_max: the formula uses t, but a steady problem has no time; leave t out");
  expect_problem(steady("  error: 0.01\n  criterion: absolute\n" + boundary),
                 "11:3: problem.criterion: cannot be combined with error (on line 10); keep one");
  expect_problem(steady("  weight: 1.01\n" + boundary), "10:11: problem.weight: 1.01 is out of");
  expect_start(only_text(parse(steady("  weight: 1\n" + boundary)).warnings),
               "deck.yaml:10:11: problem.weight: with 1 a checkerboard error never decays; 0.99 costs ");
  // The check that a patch rules out coarse grids of one material needs a correct grid and correct laws.
  const std::string patch =
      "boundaries: {z_max: {kind: temperature, value: 300, where: {from: [0, 0], to: [0.5, 0.5]}}}\n";
  expect_good(steady(patch));
  expect_problem(replaced(steady(patch), "lengths", "length"), "3:3: grid.length: unknown key");
  expect_problem(replaced(steady(patch), "[8, 9, 10]", "[8, 9]"), "2:10: grid.cells: has 2 entries");
  std::string deep = "x";
  for (int i = 0; i < 189; ++i) deep = "x+(" + deep + ")";
  expect_problem(replaced(steady(patch), "300, where", deep + ", where"),
                 "10:14: boundaries.z_max: its formulas");
  // A convection boundary with coefficient 0 does not fix the temperature.
  EXPECT_EQ(
      problems(replaced(steady("boundaries: {z_max: {kind: convection, ambient: 300, coefficient: 0}}\n"),
                        "diffusivity", "conductivity"))
          .first,
      problems(steady("")).first);
}

TEST(ConfigCrossChecks, Verify) {
  expect_problem(replaced(base, "constant, value: 300", "exact"), "7:13: initial.0.shape: exact");
  const std::string no_initial = replaced(base, "initial:\n  - {shape: constant, value: 300}\n", "");
  const Config config = parse(no_initial + "verify: {solution: decaying_mode}\n");
  ASSERT_EQ(config.initial.size(), 1u);
  EXPECT_EQ(config.initial[0].shape, Shape::exact);
  const std::string verify =
      replaced(base, "steps: 10", "end_time: 1") + "verify: {solution: decaying_mode, order: ";
  expect_good(verify + "[8, 16, 32]}\n");
  expect_problem(verify + "[8, 16]}\n", "10:42: verify.order: has 2 entries");
  expect_problem(verify + "[8, 8, 16]}\n", "10:42: verify.order: does not ascend");
  expect_wrong("verify: {solution: decaying_mode, order: [8, 16, 32]}\n",
               "42: verify.order: with problem.steps its grids end at different");
  expect_problem(replaced(base, "[8, 9, 10]", "[20, 1, 1]") + "verify: {solution: decaying_mode}\n",
                 "10:1: verify.modes: has a wave along an axis of one cell; write verify.modes: [1, 0, 0]");
  expect_wrong("verify: {order: [1, 2, 3]}\n", "1: verify.solution: is missing; add solution: ");
}

TEST(ConfigCrossChecks, ShapesAndOutput) {
  expect_problem(replaced(base, "constant, value: 300", "double_ellipsoid"),
                 "7:13: initial.0.shape: unknown value 'double_ellipsoid'; use one of constant, box, ");
  expect_problem(
      replaced(base, "constant, value: 300", "box, value: 300, from: [0, 0, 0.5], to: [1, 1, 0.5]"),
      "7:53: initial.0.to: 0.5 is not beyond 0.5 along z; write the larger corner last");
  expect_problem(
      steady("  mean_temperature: 300\noutput: {every_time: 1, slices: [{cell: 1, every_time: 3}]}\n"),
      "11:22: output.every_time: a steady problem has no time; use every_steps, in sweeps or cycles\n"
      "deck.yaml:11:56: output.slices.0.every_time: a steady problem has no time; use every_steps");
  for (const char* interval : {"every_steps: 11", "every_time: 1"}) {
    const Config off =
        parse(base + "output: {" + interval + ", snapshots: false}\n");  // the interval has no effect
    EXPECT_TRUE(off.warnings.empty());
    EXPECT_FALSE(off.output.snapshots || off.output.every_steps || off.output.every_time);
  }
}

TEST(ConfigCrossChecks, Diagnostics) {
  expect_good(base + "output: {diagnostics: 10, histogram: {bins: 64, range: auto}}\n");
  const auto with_range = [](const std::string& range) {
    return "diagnostics: 1, histogram: {bins: 8, range: " + range + "}";
  };
  expect_wrong_outputs({
      {"diagnostics: 0", "23: output.diagnostics: 0 is out of range"},
      {"history: false, diagnostics: 1", "26: output.diagnostics: does not apply to history"},
      {"histogram: {bins: 3}", "28: output.histogram.bins: are a part of the"},
      {"diagnostics: 1, histogram: {bins: 5000}", "44: output.histogram.bins: 5000 is out of range"},
      {"diagnostics: 1, histogram: {range: [1, 2]}", "45: output.histogram.range: is that of no bins"},
      {with_range("[310, 290]"), "54: output.histogram.range: 310 is not below 290"},
      {with_range("[300, 300.0000000001]"), "54: output.histogram.range: 8 bins from"},
      {with_range("300"),
       "54: output.histogram.range: one value is given where two are expected; write [low, high], "},
  });
}

TEST(ConfigCrossChecks, Registry) {
  const auto with = [](const std::string& solver) { return base + "solver: {" + solver + "}\n"; };
  expect_good(with("histogram: openmp, kernel: reference, halo_width: 64"));
  expect_good(with("halo_width: auto"));
  expect_problem(with("histogram: global_atomic, kernel: openmp"),
                 "10:21: solver.histogram: 'global_atomic' runs on another device than the kernel");
  expect_problem(with("histogram: openmp, reduction: warp_shuffle"),
                 "10:21: solver.histogram: 'openmp' runs on another device than the reduction");
  expect_problem(with("kernel: shared"), "10:18: solver.kernel: 'shared' is not in this build",
                 ExitCode::unavailable);
  expect_problem(with("kernel: shared, halo_width: 0"),
                 "10:18: solver.kernel: 'shared' is not in this build (it has no CUDA); use one of "
                 "auto, reference, openmp, naive\n"
                 "deck.yaml:10:38: solver.halo_width: 0 is out of range; write a whole number from 1 to 64");
  expect_problem(with("kernel: naive") + "parallel: {device: cpu}\n",
                 "10:18: solver.kernel: 'naive' does not run on parallel.device cpu");
}

// Transports that a deck may name, and the restrictions for one that moves no data.
const std::string mock = "parallel: {transport: mock}\n";
const std::string no_results = "output: {snapshots: false, history: false}\n";

TEST(ConfigTransport, IsInTheRegistryAndMustLeaveNoResultsIfItMovesNoData) {
  expect_good(base + "parallel: {transport: mpi_device}\n");
  expect_wrong("parallel: {transport: hots}\n",
               "23: parallel.transport: unknown value 'hots'; did you mean 'host'?");
  const std::string start =
      "10:23: parallel.transport: 'mock' moves nothing, so that every result is wrong; use another, or leave "
      "no results: ";
  expect_problem(base + mock, start + "output.snapshots false, output.history false");
  expect_problem(base + mock + "output: {snapshots: false}\n", start + "output.history false");
  expect_problem(base + mock + no_results + "verify: {solution: decaying_mode}\n", start + "no verify");
  const std::string boundary = "boundaries: {x_min: {kind: temperature, value: 300}}\n";
  expect_problem(steady(mock + no_results + boundary), start + "problem.kind transient");
  expect_start(only_text(parse(base + mock + no_results).warnings),
               "deck.yaml:10:23: parallel.transport: 'mock' moves nothing: the field is meaningless, ");
}

// For cells of 1/8, 1/9 and 1/10 m. faults/test_outputs.py tests the names of files.
Box box_of(const std::string& output) {
  return field_parts(parse(base + "output:\n  " + output + "\n")).at(0).box;
}

TEST(Parts, ASliceIsThePlaneThatHoldsItsPosition) {
  const auto cell = [](const std::string& position) {
    return box_of("slices: [{axis: x, position: " + position + "}]").lo.x;
  };
  EXPECT_EQ(box_of("slices: [{axis: y, position: 0.5}]"), (Box{{0, 4, 0}, {8, 5, 10}}));
  EXPECT_EQ(box_of("slices: [{cell: 9}]"), (Box{{0, 0, 9}, {8, 9, 10}}));
  EXPECT_EQ(cell("0"), 0);
  EXPECT_EQ(cell("0.12"), 0);
  EXPECT_EQ(cell("0.125"), 1);  // on a face: the upper cell
  EXPECT_EQ(cell("0.874999"), 6);
  EXPECT_EQ(cell("1"), 7);  // the upper boundary belongs to the last cell
  // Faces whose position is not exact: 3/10 / (1/10) is less than 3.
  for (int face = 0; face < 10; ++face)
    EXPECT_EQ(box_of(fmt::format("slices: [{{axis: z, position: {}}}]", face / 10.0)).lo.z, face);
}

TEST(Parts, ARegionIsAllCellsThatItsBoxOverlaps) {
  EXPECT_EQ(box_of("region: {from: [0.2, 0.3, 0.3], to: [0.3, 0.31, 0.4]}"), (Box{{1, 2, 3}, {3, 3, 4}}));
  EXPECT_EQ(box_of("region: {from: [0, 0, 0], to: [1, 1, 1]}"), (Box{{0, 0, 0}, {8, 9, 10}}));
  EXPECT_EQ(box_of("region: {from: [0.125, 0, 0.7], to: [0.25, 1e-14, 0.8]}"), (Box{{1, 0, 7}, {2, 1, 8}}));
  EXPECT_EQ(box_of("region: {first_cell: [1, 2, 3], last_cell: [1, 8, 4]}"), (Box{{1, 2, 3}, {2, 9, 5}}));
}

// A series of grids may have a part that fits the deck's own grid but not another one.
TEST(Parts, AnotherGridIsRejectedInTheSameWords) {
  Config config = parse(base + "output: {coarse: {factor: [2, 3, 5]}}\n");
  config.grid.cells = {8, 10, 10};
  expect_start(refusal([&] { field_parts(config); }, ExitCode::deck),
               "deck.yaml:10:27: output.coarse.factor: 3 does not divide the 10 cells along y");
}

TEST(Parts, WrongKeysHaveMessagesOfTheirOwn) {
  expect_wrong_outputs({
      {"slices: [{axis: x}]", "19: output.slices.0.cell: is missing, and so is position"},
      {"slices: [{cell: 1, position: 0.5}]", "29: output.slices.0.position: cannot be combined with cell"},
      {"slices: [{cell: 10}]", "26: output.slices.0.cell: there is no cell 10 along z"},
      {"slices: [{axis: y, position: -0.1}]", "39: output.slices.0.position: -0.1 m lies outside"},
      {"slices: [{position: 0.51}, {cell: 5}]", "37: output.slices.1: its files would be those"},
      {"slices: [{cell: 1, name: a/b}]", "35: output.slices.0.name: 'a/b' becomes a part of"},
      {"region: {from: [0, 0, 0], last_cell: [1, 1, 1]}",
       "19: output.region.from: has no effect without to; add to: [0.05, 0.05, 0.05], or remove it\n"
       "deck.yaml:10:36: output.region.last_cell: cannot be combined with from (on line 10); keep one"},
      {"region: {from: [0, 0.5, 0], to: [1, 0.5, 1]}", "42: output.region.to: 0.5 is not beyond"},
      {"region: {first_cell: [0, 0, 4], last_cell: [7, 8, 3]}",
       "53: output.region.last_cell: 3 is before 4 along z; write the larger corner last"},
      {"region: {every_steps: 3}", "19: output.region.every_steps: has no effect without from or first_cell"},
      {"coarse: {factor: 3}", "27: output.coarse.factor: 3 does not divide the 8 cells along x"},
      {"coarse: {factor: 1, every_steps: 2, every_time: 0.1}",
       "46: output.coarse.every_time: cannot be combined with every_steps (on line 10); keep one"},
      {"probes: {points: [[0, 0, 0], [0.5, 0.5, 1.5]]}",
       "39: output.probes.points.1.at: 1.5 m lies outside the box; write a position from 0 to 1 m along z"},
      {"probes: {points: [{at: [0, 0, 0], name: p1}, [1, 1, 1]]}",
       "55: output.probes.points.1: a probe before it is called 'p1' too; give one another name"},
      {"probes: {points: [0.5]}", "28: output.probes.points.0.at: one value is given where three"},
      {"probes: {every_steps: 3}",
       "19: output.probes.every_steps: has no effect without points; add points: [[0.05, "},
  });
}

// Compares the values that all keys are bound to, not their spelling.
void expect_same(const Keys& a, const Keys& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i].name);
    std::visit(
        [&]<class T>(const T& x) {
          const T& y = std::get<T>(b[i].target);
          if constexpr (std::is_same_v<T, Section>) {
            expect_same(x.keys, y.keys);
          } else if constexpr (std::is_same_v<T, MapList>) {
            ASSERT_EQ(x.size(), y.size());
            for (std::size_t k = 0; k < x.size(); ++k) expect_same(x.entry(k), y.entry(k));
          } else if constexpr (std::is_same_v<T, Choice> || std::is_same_v<T, Numbers>) {
            EXPECT_EQ(x.get(), y.get());
          } else if constexpr (std::is_same_v<T, Expression*>) {
            EXPECT_EQ(x->text(), y->text());
            EXPECT_EQ(x->is_constant(), y->is_constant());
          } else if constexpr (std::is_same_v<T, std::array<Expression, 3>*>) {
            for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ((*x)[k].text(), (*y)[k].text());
          } else if constexpr (std::is_same_v<T, std::optional<Expression>*>) {
            ASSERT_EQ(x->has_value(), y->has_value());
            EXPECT_EQ(*x ? (*x)->text() : "", *y ? (*y)->text() : "");
          } else if constexpr (std::is_same_v<T, CellSizes>) {
            EXPECT_EQ(x.grid->spacing, y.grid->spacing);
            EXPECT_EQ(x.grid->zones, y.grid->zones);
          } else if constexpr (!std::is_same_v<T, Written>) {  // used by studies only
            EXPECT_EQ(*x, *y);
          }
        },
        a[i].target);
  }
}

// Random overrides that make `base` a correct deck; nearly every key occurs.
std::vector<std::string> random_words(Random& random) {
  std::vector<std::string> words;
  const auto pick = [&](const std::string& key, const std::vector<std::string>& values) {
    const std::string& value = values[random() % values.size()];
    if (!value.empty()) words.push_back(key + "=" + value);
  };
  pick("grid",
       {"{cells: 7, lengths: 1}", "{cells: 1e2, lengths: [0.1, 2e-3, 5], origin: [293.15, -1, 1e-5]}",
        "{cells: [1, 1, 90], spacing: [1, 2, 3]}",
        "{cells: [null, 9, null], spacing: [[[2, 1e-3], [1, 1e-3]], 3e-3, [[4, 1e-6], [6, 25e-6]]]}"});
  pick("material", {"{conductivity: 15, density: 7800, heat_capacity: 500.25}",
                    "{conductivity: 15, diffusivity: 3.3333333333333335e-5}"});
  pick("precision", {"", "fp32", "fp64"});
  const char* const formulas[] = {"\"300 + y*z\"", "\"x > 0.5 ? 1 : sin(pi*z)\"", "x*y"};
  for (int f = 0; f < face_count - 1; ++f) {
    const std::string formula = formulas[f / 2];
    pick(std::string("boundaries.") + face_names[f],
         {"insulated", "{kind: insulated}", "{kind: temperature, value: 293.15}", "{kind: flux, value: -1.5}",
          "{kind: temperature, value: " + formula + "}", "{kind: flux, value: " + formula + "}",
          "{kind: convection, ambient: -0, coefficient: 12.5}",
          "{kind: convection, ambient: " + formula + ", coefficient: 1e-9}"});
  }
  std::vector<std::string> shapes = {
      "",
      "{shape: constant, mode: add, value: -1.5}",
      "{shape: box, value: 4, from: [0, 0, 0], to: [1, 1, 1e-3]}",
      "{shape: sphere, value: 5, centre: [0.1, 0.2, 0.3], radius: 0.1}",
      "{shape: cylinder, value: 5, centre: [0, 0, 0], radius: 2, length: 3, axis: 'y'}",
      "{shape: gaussian, value: -5, centre: [0, 0, 0], width: 0.25}",
      "{shape: formula, formula: \"x + y*z\"}",
      "{shape: formula, formula: 300}",
      "{shape: dataset, file: 'a b.h5', dataset: /group/T}"};
  pick("initial.1", shapes);
  shapes.emplace_back("{shape: sphere, power: -2.5, centre: [0, 0, 0], radius: 1}");
  const bool steady = random.coin();
  if (!steady)
    shapes.insert(
        shapes.end(),
        {"{shape: gaussian, power: {table: [[0, 2], [0.1, -3.5]], interpolation: step}, centre: [0, 1, 2], "
         "width: 1}",
         "{shape: double_ellipsoid, power: 5, centre: [\"t - 1\", 0.1, {table: [[1, 2]]}], front: 1, rear: "
         "2, "
         "half_width: 0.5, depth: 3, travel: -y, into: x}",
         "{shape: box, value: 5, from: [0, 0, \"t/9\"], to: [1, {table: [[0, 2], [1, 3]]}, 5]}",
         "{shape: formula, formula: \"x*t\"}"});
  pick("sources.0", shapes);
  if (steady)
    pick("problem", {"{kind: steady, weight: 0.9, tolerance: 1e-8, norm: l1, criterion: absolute}",
                     "{kind: steady, max_sweeps: 1e6, check_interval: 7, norm: l2, check: asynchronous}"});
  else
    pick("problem", {"{end_time: 0.30000000000000004, dt: auto, dt_fraction: 0.123}", "{steps: 12345678901}",
                     "{steps: 3, dt: 1e3, allow_unstable: true}"});
  const bool has_steps = words.back().find("steps: ") != std::string::npos;  // a series of grids has none
  if (words[0].find("null") == std::string::npos)  // graded grids have fewer known solutions
    pick("verify", {"", "{solution: steady_profile, tolerance: 1e-3}",
                    "{solution: manufactured, modes: [0, 0, 3], amplitude: 1e3}",
                    fmt::format("{{solution: formula, formula: \"300 + x*y*z\"{}}}",
                                has_steps ? "" : ", order: [4, 8, 16], expected_order: 1")});
  // Each makes a steady solution unique; known solutions need plain laws, and rectangles are within the box.
  std::vector<std::string> laws{"{kind: temperature, value: 12345678.9}"};
  if (words[0] == "grid={cells: 7, lengths: 1}" && words.back().find("verify=") != 0)
    laws.emplace_back(
        "[{kind: temperature, value: 300, where: {from: [0, 0.1], to: [0.5, 1]}, else: {kind: flux, value: "
        "y}}, "
        "{kind: convection, ambient: 300, coefficient: 1 + x}]");
  pick("boundaries.z_max", laws);
  pick("solver", {"", "{kernel: openmp, reduction: auto, halo_width: 4, walltime: 3500.5}"});
  pick("parallel", {"", "{process_grid: [2, 1, 3], device: cpu, ranks_per_gpu: 2, overlap: true}"});
  pick("output",
       {"", "{diagnostics: 1, histogram: {bins: 4096, range: [-1.5, 3e2]}}",
        "{slices: [{axis: y, cell: 0, every_steps: 3}, {cell: 0, name: top}], checkpoint: false}",
        "{region: {first_cell: [0, 0, 0], last_cell: [0, 0, 0]}, coarse: {factor: 1, every_steps: 4}}",
        "{checkpoint: {keep: 5, final: false}, snapshots: false, precision: fp32, xdmf: false}"});
  pick("output.directory", {"", "\"a b\\n%s: #'\\x01\"", "'null'", "\"\\\"\\\\\"", "../x", "'5'"});
  return words;
}

TEST(ConfigRoundTrip, AResolvedDeckReadsBackToTheSameConfig) {
  for (int turn = 0; turn < 300; ++turn) {
    Random random;
    const std::vector<std::string> words = random_words(random);
    SCOPED_TRACE(fmt::format("{}", fmt::join(words, "\n")));
    ASSERT_EQ(problems(base, words).first, "");
    const Config config = parse(base, words);
    const std::string resolved = to_yaml(config);
    ASSERT_EQ(problems(resolved).first, "") << resolved;
    Config before = config, after = parse(resolved);
    EXPECT_EQ(after.name, before.name);
    expect_same(describe(before), describe(after));
    EXPECT_EQ(to_yaml(after), resolved);
    if (HasFailure()) return;
  }
}

TEST(ConfigRoundTrip, DatasetsAreFoundFromTheDecksFolder) {
  const auto file_of = [](const std::string& file) {
    const std::string deck = replaced(base, "constant, value: 300", "dataset, dataset: T, file: " + file);
    return parse_deck(deck, "/data/decks/hot.yaml", {}, deck_text::registry()).initial[0].file;
  };
  EXPECT_EQ(file_of("start.h5"), "/data/decks/start.h5");
  EXPECT_EQ(file_of("../start.h5"), "/data/start.h5");
  EXPECT_EQ(file_of("/else/start.h5"), "/else/start.h5");
}

// A kernel that lacks a feature that the deck needs, as some GPU kernels do.
TEST(ConfigKernel, IsNamedIfItLacksAFeature) {
  RegistryNames registry = deck_text::registry();
  registry.kernels[1].sweeps_materials = registry.kernels[1].takes_varying_a = false;
  const auto expect = [&](const std::string& deck, const std::string& expected) {
    EXPECT_NO_THROW(parse_deck(deck, "deck.yaml", {}, registry));
    expect_says(deck_error([&] { parse_deck(deck, "deck.yaml", {"solver.kernel=openmp"}, registry); }),
                "solver.kernel: 'openmp' does not " + expected + "use auto or one of reference, naive");
  };
  const std::string body = replaced(base, "material:\n  diffusivity: 1\n",
                                    "materials:\n"
                                    "  core: {conductivity: 1, density: 1, heat_capacity: 1}\n"
                                    "  board: {conductivity: 2, density: 1, heat_capacity: 1}\n"
                                    "material: {default: core}\n"
                                    "regions: [{layers: [{material: board, thickness: 0.5}]}]\n");
  expect(body, "sweep a body of several materials, or of one that differs by axis in this version; ");
  const std::string with_room = replaced(body, "  core:", "  room: {ambient: 1, coefficient: 1}\n  core:");
  expect_start(only_text(parse(with_room).warnings), "deck.yaml:5:3: materials.room: no cell has it: ");
  const std::string law =
      replaced(base, "diffusivity: 1", "conductivity: 1\n  density: 1\n  heat_capacity: 1");
  expect(law + "boundaries: {x_min: {kind: convection, coefficient: 25 + y, ambient: 300}}\n",
         "take boundaries whose coefficients vary over a face or in time; ");
  registry.kernels[2].sweeps_materials = false;  // no remedy where the deck needs both
  const std::string both =
      body + "boundaries: {x_min: {kind: convection, coefficient: 25 + t, ambient: 300}}\n";
  const std::string error =
      deck_error([&] { parse_deck(both, "deck.yaml", {"solver.kernel=openmp"}, registry); });
  expect_says(error, "in time; use auto or one of reference");
  EXPECT_EQ(error.find("naive"), error.npos) << error;
}

// Calls `visit` for every key of the table, with its path.
void for_each_key(const Keys& keys, const std::string& path,
                  const std::function<void(const Key&, const std::string&)>& visit) {
  for (const Key& key : keys) {
    const std::string key_path = path + std::string(key.name);
    visit(key, key_path);
    if (const auto* section = std::get_if<Section>(&key.target))
      for_each_key(section->keys, key_path + ".", visit);
    if (const auto* list = std::get_if<MapList>(&key.target))
      for_each_key(list->append(), key_path + ".0.", visit);
  }
}

// faults/test_deck.py tests that it passes `isotherm check` and runs. Examples after a '#' must be valid.
TEST(CommentedDeck, DescribesEveryKey) {
  const std::string deck = commented_deck();
  Config config;
  int keys = 0, examples = 0;
  for_each_key(describe(config), "", [&](const Key& key, const std::string& path) {
    const bool other_boundary = path.find("boundaries.") == 0 && path.find("x_min") == std::string::npos;
    if (other_boundary) return;  // the first boundary represents all
    ++keys;
    EXPECT_FALSE(key.doc.empty()) << path;
    const auto holds = [&](const std::string& part) { return deck.find(part) != std::string::npos; };
    EXPECT_TRUE(holds(fmt::format("{}: ", key.name)) || holds(fmt::format("{}:\n", key.name))) << path;
    EXPECT_TRUE(holds(fmt::format("# {}", key.doc))) << path;
    if (!range_text(key.range).empty()) {
      EXPECT_TRUE(
          holds(range_text(key.range) + (key.range.unit.empty() ? "" : " " + std::string(key.range.unit))))
          << path;
    }
    if (key.example.empty()) return;
    ++examples;
    Problems problems("example");
    read_value(parse_yaml(std::string(key.example)), key, path, problems);
    EXPECT_NO_THROW(problems.throw_if_any()) << path;
  });
  EXPECT_GT(keys, 70);
  EXPECT_GT(examples, 40);
  expect_says(deck, "; only for kind transient; default 0.9\n  dt_fraction: 0.9\n");
}

TEST(ConfigDerived, PlacesOnAGradedAxis) {
  const Config config = parse(replaced(replaced(base, "[8, 9, 10]", "[2, 2, null]"), "lengths: 1",
                                       "spacing: [1, 1, [[2, 0.5], [1, 2], [3, 0.25]]]"));
  const GridAxis z(config, 2);
  const double edges[] = {0, 0.5, 1, 3, 3.25, 3.5, 3.75, 4};
  for (Index i = 0; i < 6; ++i) {
    EXPECT_EQ(z.edge(i), edges[i]);
    EXPECT_EQ(z.centre(i), (edges[i] + edges[i + 1]) / 2);
    EXPECT_EQ(z.in_cells(z.centre(i)), static_cast<double>(i) + 0.5);
    EXPECT_EQ(z.size_formula()(0, 0, z.centre(i)), z.size(i));
  }
  EXPECT_EQ(z.length(), 3.75);
  EXPECT_EQ(z.edge(7), 4);
  EXPECT_EQ(z.edge(-1), -0.5);
  EXPECT_EQ(spacing(config)[2], 0.5);
  EXPECT_EQ(size_at(config, Face::z_max), 0.25);
}

TEST(ConfigDerived, SpacingAndMaterial) {
  Config config = parse(base);
  EXPECT_EQ(spacing(config), (Vector3{1.0 / 8, 1.0 / 9, 1.0 / 10}));
  config.grid.spacing = Vector3{1, 2, 3};
  EXPECT_EQ(spacing(config), (Vector3{1, 2, 3}));
  config.material = {.conductivity = 400, .density = 8000, .heat_capacity = 500};
  EXPECT_EQ(diffusivity(config), 400 / (8000.0 * 500));
  EXPECT_EQ(volumetric_heat_capacity(config), 4e6);
  config.material = {.conductivity = 400, .diffusivity = 1e-4};
  EXPECT_EQ(volumetric_heat_capacity(config), 400 / 1e-4);
  EXPECT_EQ(stable_dt(config), 1 / (2 * 1e-4 * (1 / 1.0 + 1 / 4.0 + 1 / 9.0)));
}

TEST(ConfigDerived, WholeStepsEndAtEndTime) {
  Config config = parse(base);
  config.grid.spacing = Vector3{1, 1, 1};  // stable dt: 1/6 s
  const auto plan = [&](std::optional<double> dt, std::optional<double> end_time,
                        std::optional<std::int64_t> steps) {
    config.problem.dt = dt;
    config.problem.end_time = end_time;
    config.problem.steps = steps;
    return time_plan(config);
  };
  EXPECT_EQ(plan(0.02, 0.14, {}).steps, 7);  // not 8 because of rounding
  EXPECT_EQ(plan(0.1, 0.31, {}).steps, 4);
  EXPECT_EQ(plan(0.1, 0.31, {}).dt, 0.31 / 4);
  for (const MethodName method : {MethodName::implicit, MethodName::rkl, MethodName::euler}) {
    config.problem.method = method;
    EXPECT_EQ(plan(0.1, 0.0, {}).steps, 0);
    EXPECT_EQ(plan({}, 0.0, {}).steps, 0);
    EXPECT_TRUE(std::isfinite(plan({}, 0.0, {}).dt));
  }
  EXPECT_EQ(plan({}, 1.5, {}).steps, 10);
  EXPECT_DOUBLE_EQ(plan({}, 1.5, {}).dt, 0.15);
  EXPECT_EQ(plan(0.1, {}, 7).steps, 7);
  EXPECT_EQ(plan(0.1, {}, 7).dt, 0.1);
  Random random;
  for (int i = 0; i < 1000; ++i) {
    const double dt = random.between(1e-4, 0.1), end_time = random.between(0.01, 10.0);
    const TimePlan made = plan(dt, end_time, {});
    EXPECT_LE(made.dt, dt * (1 + 1e-9));
    EXPECT_GT(made.dt * static_cast<double>(made.steps + 1), end_time);
    EXPECT_DOUBLE_EQ(made.dt * static_cast<double>(made.steps), end_time);
  }
}

TEST(ConfigTable, IsLinearOrInStepsAndConstantBeyondItsEnds) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "trace.csv").string();
  std::ofstream(file) << "# power of a chip\nP_W, \"t_s\"\n20,1\n\n50,3\n-10, 4\n";
  for (const std::string table : {"[[1, 20], [3, 50], [4, -10]]", "trace.csv, time: t_s, column: P_W"}) {
    const auto value_of = [&](const std::string& interpolation) {
      const std::string value = fmt::format("{{table: {}{}}}", table, interpolation);
      const std::string deck = with_boundary("{kind: flux, value: " + value + "}") +
                               "material: {conductivity: 1, diffusivity: 1}\n";
      return parse_deck(replaced(deck, "material:\n  diffusivity: 1\n", ""),
                        (folder.path() / "deck.yaml").string(), {}, deck_text::registry())
          .boundaries[0]
          .value;
    };
    const Expression linear = value_of(""), steps = value_of(", interpolation: step");
    EXPECT_TRUE(linear.uses('t') && linear.is_table() && !linear.uses('x'));
    const double times[] = {0, 1, 2, 3, 3.5, 4, 9}, in_line[] = {20, 20, 35, 50, 20, -10, -10},
                 in_steps[] = {20, 20, 20, 50, 50, -10, -10};
    for (std::size_t i = 0; i < std::size(times); ++i) {
      EXPECT_EQ(linear(0, 0, 0, times[i]), in_line[i]) << times[i];
      EXPECT_EQ(steps(0, 0, 0, times[i]), in_steps[i]) << times[i];
    }
    EXPECT_EQ(linear.shortest_change(9), 1);
    EXPECT_EQ(linear.shortest_change(3), 2);               // the knot at 4 s is after the end
    if (table[0] == 't') expect_says(steps.text(), file);  // independent of the working directory
  }
  // The changes before the start are none of the run.
  EXPECT_EQ(Expression({{-2, 1}, {-1, 2}, {3, 5}}, false, "").shortest_change(9), 4);
}

TEST(ConfigTable, ErrorsAreNamed) {
  const auto expect = [](const std::string& value, const std::string& problem) {
    expect_says(problems(with_boundary("{kind: flux, value: " + value + "}")).first, problem);
  };
  expect("{table: [[0, 1], [0, 2]]}", "the time 0 s does not follow 0 s");
  expect("{table: [[0, 1], [1, x]]}", "'x' is not a number (entry 2)");
  expect("{table: [0, 1]}", "a table is a list of [time, value]");
  expect("{table: []}", "the table is empty");
  expect("{table: [[0, 1e99]]}", "the value 1e+99 of the table is out of range");
  expect("{table: none.csv, time: t, column: q}", "none.csv cannot be read");
  expect("{table: none.csv}", "a file needs the names of its columns");
  expect("{table: [[0, 1]], interpolation: cubic}", "interpolation 'cubic' is unknown");
  expect("{tabel: [[0, 1]]}", "'tabel' is no part of a table");
  expect("{table: [[0, 1]], table: [[0, 2]]}", "'table' appears twice; keep one");
  expect_says(
      problems(with_boundary("{kind: temperature, value: {table: [[0, 300], [5, -20], [9, -1]]}}")).first,
      ": -20 K is below absolute zero");
  const std::string of_sources =
      problems(base +
               "sources: [{shape: double_ellipsoid, value: 1, centre: 0.02, front: 1, rear: 1, "
               "half_width: 1, depth: 1}, {shape: sphere, value: 1, radius: 1, centre: [0, 0, 2e12]}]\n")
          .first;
  expect_says(of_sources, "sources.0.power: is missing; add power: 16\n");
  expect_says(of_sources, "sources.0.value: does not apply to shape double_ellipsoid");
  expect_says(of_sources, "three are expected; write [x, y, z], each a number from");
  expect_says(of_sources, "2e12 is out of range; write a number from");
}

}  // namespace
}  // namespace isotherm
