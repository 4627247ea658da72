// A resolved deck reads back to the same Config; the commented deck is a deck; derived quantities.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/reader.hpp"
#include "config/yaml_tree.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::parse;

// What every key is bound to, by its values and not by how they are written.
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
          } else if constexpr (std::is_same_v<T, Choice>) {
            EXPECT_EQ(x.get(), y.get());
          } else if constexpr (std::is_same_v<T, Expression*>) {
            EXPECT_EQ(x->text(), y->text());
            EXPECT_EQ(x->is_constant(), y->is_constant());
          } else if constexpr (std::is_same_v<T, std::optional<Expression>*>) {
            ASSERT_EQ(x->has_value(), y->has_value());
            EXPECT_EQ(*x ? (*x)->text() : "", *y ? (*y)->text() : "");
          } else if constexpr (!std::is_same_v<T, Written>) {  // which is a study's
            EXPECT_EQ(*x, *y);
          }
        },
        a[i].target);
  }
}

// Decks that are right, made of random choices: nearly every key takes part.
class RandomDeck {
 public:
  explicit RandomDeck(std::uint64_t seed) : random_(seed) {}

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
    deck += boundaries() + "initial:\n" + shapes(1 + random_() % 4) +
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
  bool coin() { return random_.coin(); }
  std::string pick(const std::vector<std::string>& choices) { return choices[random_() % choices.size()]; }
  std::string kelvin() { return pick({"0", "1e-9", "0.1", "293.15", "12345678.9", "-0"}); }
  std::string number() { return pick({"0", "-1.5", "1e-9", "0.1", "293.15", "12345678.9", "-0"}); }

  std::string boundaries() {
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

  Random random_;
  bool steady_ = false, verified_ = false;
};

TEST(ConfigRoundTrip, AResolvedDeckReadsBackToTheSameConfig) {
  const std::uint64_t first = std::random_device{}();
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    const std::string deck = RandomDeck(seed).make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, deck));
    ASSERT_EQ(deck_text::problems(deck).first, "");
    const Config config = parse(deck);
    const std::string resolved = to_yaml(config);
    ASSERT_EQ(deck_text::problems(resolved).first, "") << resolved;
    Config before = config, after = parse(resolved);
    EXPECT_EQ(after.name, before.name);
    expect_same(describe(before), describe(after));
    EXPECT_EQ(to_yaml(parse(resolved)), resolved);
    if (HasFailure()) return;
  }
}

// Every key that applies, in the order of the commented deck, which says each default.
TEST(ConfigRoundTrip, DefaultsAreWrittenOut) {
  const std::string resolved = to_yaml(parse(base));
  for (const char* part :
       {"  origin: [0, 0, 0]\nmaterial:\n  diffusivity: 1\nprecision: fp64\nboundaries:\n  x_min: {kind: "
        "insulated}\n",
        "sources: []\nproblem:\n  kind: transient\n  steps: 10\n  dt: auto\n  dt_fraction: 0.9\n",
        "  check_interval: 100\n  check: immediate\nsolver:\n  kernel: auto\n  tile: auto\n  reduction: "
        "auto\n",
        "  halo_width: auto\n  time_block: auto\n  cuda_graph: auto\n  tuning_budget: 1\nparallel:\n",
        "  overlap: auto\n  transport: auto\n  probe_timeout: 10\noutput:\n  directory: runs/deck\n",
        "  checkpoint: {write: true, keep: 2, final: auto}\n  on_error: stop\nverify:\n  solution: none\n"})
    expect_says(resolved, part);
  EXPECT_EQ(std::ranges::count(resolved, '\n'), 59);
}

TEST(ConfigRoundTrip, DatasetsAreFoundFromTheDecksFolder) {
  const auto file_of = [](const std::string& file) {
    const std::string deck =
        deck_text::replaced(base, "constant, value: 300", "dataset, dataset: T, file: " + file);
    return parse_deck(deck, "/data/decks/hot.yaml", {}, deck_text::registry()).initial[0].file;
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

// That it passes check and runs: faults/test_deck.py.
TEST(CommentedDeck, SaysAllOfEveryKey) {
  const std::string deck = commented_deck();
  Config config;
  int keys = 0;
  for_each_key(describe(config), "", [&](const Key& key, const std::string& path) {
    const bool other_boundary = path.find("boundaries.") == 0 && path.find("x_min") == std::string::npos;
    if (other_boundary) return;  // the first boundary stands for all
    ++keys;
    EXPECT_FALSE(key.doc.empty()) << path;
    const auto holds = [&](const std::string& part) { return deck.find(part) != std::string::npos; };
    EXPECT_TRUE(holds(fmt::format("{}: ", key.name)) || holds(fmt::format("{}:\n", key.name))) << path;
    EXPECT_TRUE(holds(fmt::format("# {}", key.doc))) << path;
    if (!range_text(key.range).empty()) {
      EXPECT_TRUE(holds(range_text(key.range) + (key.unit.empty() ? "" : " " + std::string(key.unit))))
          << path;
    }
  });
  EXPECT_GT(keys, 70);
  expect_says(deck,
              "# What dt: auto takes of the stable limit; less where the maximum principle needs "
              "it.\n  #   a number above 0, at most 1; only for kind "
              "transient; default 0.9\n  dt_fraction: 0.9\n");
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
  Random random;
  for (int i = 0; i < 1000; ++i) {
    const double dt = random.between(1e-4, 0.1), end_time = random.between(0.01, 10.0);
    const TimePlan made = plan(dt, end_time, {});
    EXPECT_LE(made.dt, dt * (1 + 1e-9));
    EXPECT_GT(made.dt * static_cast<double>(made.steps + 1), end_time);
    EXPECT_DOUBLE_EQ(made.dt * static_cast<double>(made.steps), end_time);
  }
}

}  // namespace
}  // namespace isotherm
