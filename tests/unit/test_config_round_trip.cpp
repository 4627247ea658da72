// A resolved deck reads back to the same Config; the commented deck is a deck; derived quantities.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/value.hpp"
#include "config/yaml_tree.hpp"
#include "support/deck_text.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::parse;

void expect_same(const Expression& a, const Expression& b, const std::string& what) {
  EXPECT_EQ(a.is_constant(), b.is_constant()) << what;
  EXPECT_EQ(a.text(), b.text()) << what;
}

void expect_same(const Paint& a, const Paint& b) {
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.mode, b.mode);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.power, b.power);
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.centre, b.centre);
  EXPECT_EQ(a.radius, b.radius);
  EXPECT_EQ(a.axis, b.axis);
  EXPECT_EQ(a.length, b.length);
  EXPECT_EQ(a.width, b.width);
  expect_same(a.formula, b.formula, "paint.formula");
  EXPECT_EQ(a.file, b.file);
  EXPECT_EQ(a.dataset, b.dataset);
}

void expect_same(const std::vector<Paint>& a, const std::vector<Paint>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i]);
}

void expect_same(const ProblemConfig& a, const ProblemConfig& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.dt, b.dt);
  EXPECT_EQ(a.dt_fraction, b.dt_fraction);
  EXPECT_EQ(a.end_time, b.end_time);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.allow_unstable, b.allow_unstable);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.tolerance, b.tolerance);
  EXPECT_EQ(a.norm, b.norm);
  EXPECT_EQ(a.criterion, b.criterion);
  EXPECT_EQ(a.max_sweeps, b.max_sweeps);
  EXPECT_EQ(a.mean_temperature, b.mean_temperature);
  EXPECT_EQ(a.check_interval, b.check_interval);
  EXPECT_EQ(a.check, b.check);
}

void expect_same(const VerifyConfig& a, const VerifyConfig& b) {
  EXPECT_EQ(a.solution, b.solution);
  EXPECT_EQ(a.modes, b.modes);
  EXPECT_EQ(a.amplitude, b.amplitude);
  ASSERT_EQ(a.formula.has_value(), b.formula.has_value());
  if (a.formula) expect_same(*a.formula, *b.formula, "verify.formula");
  EXPECT_EQ(a.tolerance, b.tolerance);
  EXPECT_EQ(a.order, b.order);
  EXPECT_EQ(a.expected_order, b.expected_order);
  EXPECT_EQ(a.order_tolerance, b.order_tolerance);
}

void expect_same(const OutputTimes& a, const OutputTimes& b) {
  EXPECT_EQ(a.every_steps, b.every_steps);
  EXPECT_EQ(a.every_time, b.every_time);
}

void expect_same_parts(const OutputConfig& a, const OutputConfig& b) {
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.xdmf, b.xdmf);
  ASSERT_EQ(a.slices.size(), b.slices.size());
  for (std::size_t i = 0; i < a.slices.size(); ++i) {
    EXPECT_EQ(a.slices[i].name, b.slices[i].name);
    EXPECT_EQ(a.slices[i].axis, b.slices[i].axis);
    EXPECT_EQ(a.slices[i].position, b.slices[i].position);
    EXPECT_EQ(a.slices[i].cell, b.slices[i].cell);
    expect_same(a.slices[i].times, b.slices[i].times);
  }
  EXPECT_EQ(a.region.from, b.region.from);
  EXPECT_EQ(a.region.to, b.region.to);
  EXPECT_EQ(a.region.first_cell, b.region.first_cell);
  EXPECT_EQ(a.region.last_cell, b.region.last_cell);
  expect_same(a.region.times, b.region.times);
  EXPECT_EQ(a.coarse.factor, b.coarse.factor);
  expect_same(a.coarse.times, b.coarse.times);
  ASSERT_EQ(a.probes.points.size(), b.probes.points.size());
  for (std::size_t i = 0; i < a.probes.points.size(); ++i) {
    EXPECT_EQ(a.probes.points[i].name, b.probes.points[i].name);
    EXPECT_EQ(a.probes.points[i].at, b.probes.points[i].at);
  }
  expect_same(a.probes.times, b.probes.times);
}

// Every member but the places.
void expect_same(const Config& a, const Config& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.grid.cells, b.grid.cells);
  EXPECT_EQ(a.grid.lengths, b.grid.lengths);
  EXPECT_EQ(a.grid.spacing, b.grid.spacing);
  EXPECT_EQ(a.grid.origin, b.grid.origin);
  EXPECT_EQ(a.material.conductivity, b.material.conductivity);
  EXPECT_EQ(a.material.density, b.material.density);
  EXPECT_EQ(a.material.heat_capacity, b.material.heat_capacity);
  EXPECT_EQ(a.material.diffusivity, b.material.diffusivity);
  EXPECT_EQ(a.precision, b.precision);
  for (std::size_t f = 0; f < face_count; ++f) {
    EXPECT_EQ(a.boundaries[f].kind, b.boundaries[f].kind);
    expect_same(a.boundaries[f].value, b.boundaries[f].value, face_names[f]);
    EXPECT_EQ(a.boundaries[f].coefficient, b.boundaries[f].coefficient);
  }
  expect_same(a.initial, b.initial);
  expect_same(a.sources, b.sources);
  expect_same(a.problem, b.problem);
  EXPECT_EQ(a.solver.kernel, b.solver.kernel);
  EXPECT_EQ(a.solver.reduction, b.solver.reduction);
  EXPECT_EQ(a.solver.histogram, b.solver.histogram);
  EXPECT_EQ(a.solver.halo_width, b.solver.halo_width);
  EXPECT_EQ(a.solver.walltime, b.solver.walltime);
  EXPECT_EQ(a.parallel.process_grid, b.parallel.process_grid);
  EXPECT_EQ(a.parallel.device, b.parallel.device);
  EXPECT_EQ(a.parallel.ranks_per_gpu, b.parallel.ranks_per_gpu);
  EXPECT_EQ(a.parallel.overlap, b.parallel.overlap);
  EXPECT_EQ(a.output.directory, b.output.directory);
  EXPECT_EQ(a.output.overwrite, b.output.overwrite);
  EXPECT_EQ(a.output.snapshots, b.output.snapshots);
  EXPECT_EQ(a.output.every_steps, b.output.every_steps);
  EXPECT_EQ(a.output.every_time, b.output.every_time);
  EXPECT_EQ(a.output.history, b.output.history);
  EXPECT_EQ(a.output.diagnostics, b.output.diagnostics);
  EXPECT_EQ(a.output.histogram.bins, b.output.histogram.bins);
  EXPECT_EQ(a.output.histogram.range, b.output.histogram.range);
  expect_same_parts(a.output, b.output);
  EXPECT_EQ(a.output.checkpoint, b.output.checkpoint);
  expect_same(a.verify, b.verify);
}

// Decks that are right, made of random choices: nearly every key takes part.
class RandomDeck {
 public:
  explicit RandomDeck(unsigned seed) : random_(seed) {}

  std::string make() {
    steady_ = coin();
    verified_ = coin();
    std::string deck = "grid:\n  cells: " + pick({"7", "[5, 6, 7]", "1e2", "[1, 1, 90]"}) + "\n";
    deck += coin() ? "  lengths: " + pick({"1", "[0.1, 2e-3, 5]"}) + "\n"
                   : "  spacing: " + pick({"0.01", "[1, 2, 3]"}) + "\n";
    if (coin()) deck += "  origin: [" + number() + ", -1, 1e-5]\n";
    deck += "material:\n  conductivity: 15\n" +
            pick({"  density: 7800\n  heat_capacity: 500.25\n", "  diffusivity: 3.3333333333333335e-5\n"});
    if (coin()) deck += "precision: " + pick({"fp32", "fp64"}) + "\n";
    deck += walls() + "initial:\n" + shapes(1 + random_() % 4) +
            (coin() ? "sources:\n" + shapes(random_() % 3) +
                          "  - {shape: sphere, power: -2.5, centre: [0, 0, 0], radius: 1}\n"
                    : "");
    deck += problem() + verify();
    if (coin())
      deck += "solver: {kernel: openmp, reduction: auto, halo_width: " + pick({"1", "auto", "4"}) +
              pick({"", ", walltime: 3500.5"}) + "}\n";
    if (coin())
      deck += "parallel: {process_grid: " + pick({"auto", "[2, 1, 3]"}) +
              ", device: " + pick({"auto", "cpu"}) + ", ranks_per_gpu: " + pick({"auto", "2"}) +
              ", overlap: " + pick({"auto", "true", "false"}) + "}\n";
    if (coin())
      deck += "output: {directory: " +
              pick({"out", "\"a b\\n%s: #'\\x01\"", "'null'", "\"\\\"\\\\\"", "../x", "'5'"}) +
              ", overwrite: true, " +
              pick({"snapshots: false", "every_steps: 3", "history: false", "diagnostics: 7",
                    "diagnostics: 1, histogram: {bins: 12}",
                    "diagnostics: 1, histogram: {bins: 4096, range: [-1.5, 3e2]}", "precision: fp32",
                    "xdmf: false", "slices: [{axis: y, cell: 0, every_steps: 3}, {cell: 0, name: top}]",
                    "region: {first_cell: [0, 0, 0], last_cell: [0, 0, 0]}",
                    "coarse: {factor: 1, every_steps: 4}", "checkpoint: false",
                    "checkpoint: {keep: 5, final: false}"}) +
              "}\n";
    return deck;
  }

 private:
  bool coin() { return random_() % 2 == 0; }
  std::string pick(const std::vector<std::string>& choices) { return choices[random_() % choices.size()]; }
  std::string kelvin() { return pick({"0", "1e-9", "0.1", "293.15", "12345678.9", "-0"}); }
  std::string number() { return pick({"0", "-1.5", "1e-9", "0.1", "293.15", "12345678.9", "-0"}); }

  std::string walls() {
    const char* const formulas[] = {"\"300 + y*z\"", "\"x > 0.5 ? 1 : sin(pi*z)\"", "x*y"};
    std::string text =
        "boundaries:\n  z_max: {kind: temperature, value: 300}\n";  // one makes a steady problem unique
    for (int f = 0; f < face_count - 1; ++f) {
      const std::string formula = formulas[f / 2], temperature = coin() ? kelvin() : formula;
      text += std::string("  ") + face_names[f] + ": " +
              pick({"insulated", "{kind: insulated}", "{kind: temperature, value: " + temperature + "}",
                    "{kind: flux, value: " + (coin() ? number() : formula) + "}",
                    "{kind: convection, ambient: " + temperature + ", coefficient: 12.5}"}) +
              "\n";
    }
    return text;
  }
  std::string shapes(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += "  - {" +
              pick({"shape: constant, mode: add, value: " + number(),
                    "shape: box, value: 4, from: [0, 0, 0], to: [1, 1, 1e-3]",
                    "shape: sphere, value: 5, centre: [0.1, 0.2, 0.3], radius: 0.1",
                    "shape: cylinder, value: 5, centre: [0, 0, 0], radius: 2, length: 3, axis: " +
                        pick({"x", "'y'", "z"}),
                    "shape: gaussian, value: -5, centre: [0, 0, 0], width: 0.25",
                    "shape: formula, formula: \"x + y*z\"", "shape: formula, formula: 300",
                    "shape: dataset, file: 'a b.h5', dataset: /group/T"}) +
              "}\n";
    return text;
  }
  std::string problem() {
    if (steady_)
      return "problem: {kind: steady, weight: 0.9, tolerance: 1e-8, norm: " + pick({"max", "l2", "l1"}) +
             ", criterion: " + pick({"absolute", "relative"}) + ", max_sweeps: 1e6, check_interval: 7" +
             pick({"", ", check: asynchronous"}) + "}\n";
    return "problem: {" + pick({"end_time: 0.30000000000000004", "steps: 12345678901"}) +
           pick({"", ", dt: auto, dt_fraction: 0.123", ", dt: 1e3, allow_unstable: true"}) + "}\n";
  }
  std::string verify() {
    if (!verified_) return "";
    const std::string solution = pick({"steady_profile", "manufactured, modes: [0, 3, 1], amplitude: 1e3",
                                       "formula, formula: \"300 + x*y*z\""});
    return "verify: {solution: " + solution +
           pick({"", ", tolerance: 1e-3", ", order: [4, 8, 16], expected_order: 1"}) + "}\n";
  }

  std::mt19937 random_;
  bool steady_ = false, verified_ = false;
};

TEST(ConfigRoundTrip, AResolvedDeckReadsBackToTheSameConfig) {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed < first + 300; ++seed) {
    const std::string deck = RandomDeck(seed).make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, deck));
    ASSERT_EQ(deck_text::problems(deck).first, "");
    const Config config = parse(deck);
    const std::string resolved = to_yaml(config);
    ASSERT_EQ(deck_text::problems(resolved).first, "") << resolved;
    expect_same(parse(resolved), config);
    EXPECT_EQ(to_yaml(parse(resolved)), resolved);
    if (HasFailure()) return;
  }
}

TEST(ConfigRoundTrip, DefaultsAreWrittenOut) {
  EXPECT_EQ(to_yaml(parse(base)), R"(grid:
  cells: [8, 9, 10]
  lengths: [1, 1, 1]
  origin: [0, 0, 0]
material:
  diffusivity: 1
precision: fp64
boundaries:
  x_min: {kind: insulated}
  x_max: {kind: insulated}
  y_min: {kind: insulated}
  y_max: {kind: insulated}
  z_min: {kind: insulated}
  z_max: {kind: insulated}
initial:
  - {shape: constant, mode: set, value: 300}
sources: []
problem:
  kind: transient
  steps: 10
  dt: auto
  dt_fraction: 0.9
  allow_unstable: false
  check_interval: 100
  check: immediate
solver:
  kernel: auto
  tile: auto
  reduction: auto
  histogram: auto
  halo_width: auto
  time_block: auto
  cuda_graph: auto
parallel:
  process_grid: auto
  device: auto
  ranks_per_gpu: auto
  overlap: auto
  transport: auto
  probe_timeout: 10
output:
  directory: runs/deck
  overwrite: false
  snapshots: true
  asynchronous: true
  history: true
  histogram: {bins: 0, range: auto}
  precision: same
  compression: 0
  xdmf: true
  slices: []
  region: {}
  coarse: {}
  probes: {points: []}
  checkpoint: {write: true, keep: 2, final: auto}
  on_error: stop
verify:
  solution: none
)");
}

TEST(ConfigRoundTrip, DatasetsAreFoundFromTheDecksFolder) {
  const auto file_of = [](const std::string& file) {
    const std::string deck =
        deck_text::replaced(base, "constant, value: 300", "dataset, dataset: T, file: " + file);
    return parse_deck(deck, "/data/decks/hot.yaml", {}, deck_text::rows()).initial[0].file;
  };
  EXPECT_EQ(file_of("start.h5"), "/data/decks/start.h5");
  EXPECT_EQ(file_of("../start.h5"), "/data/start.h5");
  EXPECT_EQ(file_of("/else/start.h5"), "/else/start.h5");
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

TEST(CommentedDeck, IsADeckThatRuns) {
  const auto [text, code] = deck_text::problems(commented_deck());
  EXPECT_EQ(text, "");
  EXPECT_EQ(code, ExitCode::done);
}

TEST(CommentedDeck, SaysAllOfEveryKey) {
  const std::string deck = commented_deck();
  Config config;
  int keys = 0;
  for_each_key(describe(config), "", [&](const Key& key, const std::string& path) {
    const bool other_wall = path.find("boundaries.") == 0 && path.find("x_min") == std::string::npos;
    if (other_wall) return;  // the first wall stands for all
    ++keys;
    EXPECT_FALSE(key.doc.empty()) << path;
    EXPECT_NE(deck.find(fmt::format("{}: ", key.name)) == std::string::npos
                  ? deck.find(fmt::format("{}:\n", key.name))
                  : 0,
              std::string::npos)
        << path;
    EXPECT_NE(deck.find(fmt::format("# {}", key.doc)), std::string::npos) << path;
    if (!range_text(key.range).empty()) {
      EXPECT_NE(deck.find(range_text(key.range) + (key.unit.empty() ? "" : " " + std::string(key.unit))),
                std::string::npos)
          << path;
    }
  });
  EXPECT_GT(keys, 70);
  EXPECT_NE(deck.find("# What dt: auto takes of the stable limit; less where the maximum principle needs "
                      "it.\n  #   a number above 0, at most 1; only for kind "
                      "transient; default 0.9\n  dt_fraction: 0.9\n"),
            std::string::npos);
}

// What the commented deck suggests behind a '#' must be readable.
TEST(CommentedDeck, ExamplesAreRight) {
  Config config;
  int examples = 0;
  for_each_key(describe(config), "", [&](const Key& key, const std::string& path) {
    if (key.example.empty()) return;
    ++examples;
    Problems problems("example");
    read_value(parse_yaml(std::string(key.example)), key, path, problems);
    EXPECT_NO_THROW(problems.throw_if_any()) << path;
  });
  EXPECT_GT(examples, 40);
}

TEST(ConfigDerived, SpacingAndMaterial) {
  Config config = parse(base);
  EXPECT_EQ(spacing(config), (Vector3{1.0 / 8, 1.0 / 9, 1.0 / 10}));
  config.grid.spacing = Vector3{1, 2, 3};
  EXPECT_EQ(spacing(config), (Vector3{1, 2, 3}));
  config.material = {.conductivity = 400, .density = 8000, .heat_capacity = 500, .diffusivity = {}};
  EXPECT_EQ(diffusivity(config), 400 / (8000.0 * 500));
  EXPECT_EQ(volumetric_heat_capacity(config), 4e6);
  config.material = {.conductivity = 400, .density = {}, .heat_capacity = {}, .diffusivity = 1e-4};
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
  EXPECT_EQ(plan(0.1, 1.0, {}).steps, 10);  // and not 11 for the sake of the last bit
  EXPECT_EQ(plan(0.1, 0.3, {}).steps, 3);
  EXPECT_EQ(plan(0.1, 0.31, {}).steps, 4);
  EXPECT_EQ(plan(0.1, 0.31, {}).dt, 0.31 / 4);
  EXPECT_EQ(plan(0.1, 0.0, {}).steps, 0);
  EXPECT_EQ(plan({}, 1.5, {}).steps, 10);
  EXPECT_DOUBLE_EQ(plan({}, 1.5, {}).dt, 0.15);
  EXPECT_EQ(plan(0.1, {}, 7).steps, 7);
  EXPECT_EQ(plan(0.1, {}, 7).dt, 0.1);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> any(0.01, 10);
  for (int i = 0; i < 1000; ++i) {
    const double dt = any(random) / 100, end_time = any(random);
    const TimePlan made = plan(dt, end_time, {});
    EXPECT_LE(made.dt, dt * (1 + 1e-9));
    EXPECT_GT(made.dt * static_cast<double>(made.steps + 1), end_time);
    EXPECT_DOUBLE_EQ(made.dt * static_cast<double>(made.steps), end_time);
  }
}

}  // namespace
}  // namespace isotherm
