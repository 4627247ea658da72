#include "app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <type_traits>

#include "app/compare_axes.hpp"
#include "app/tools.hpp"
#include "config/key_table.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

constexpr const char* exit_codes =
    "Exit codes: 0 done; 2 command line; 10 not converged; 65 deck or data; 66 file missing; 69 device or "
    "library\n"
    "missing; 70 internal; 71 memory; 73 cannot create; 74 I/O; 75 stopped early; 76 diverged or "
    "verification failed.\n";

std::string version_text() {
  const BuildInfo& b = build_info();
  return fmt::format("isotherm {} (git {}, {}, {}, CUDA {}, HDF5 {})", b.version, b.git_revision,
                     b.build_type, b.compiler, b.cuda, b.hdf5);
}

// CLI11's own check, in words that do not change with its version.
template <class Number>
CLI::Validator number_from(Number least, Number most) {
  return {[=](const std::string& text) {
            Number value = 0;
            const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good =
                problem == std::errc() && end == text.data() + text.size() && least <= value && value <= most;
            return good ? std::string() : fmt::format("'{}' is no number from {} to {}", text, least, most);
          },
          fmt::format("{} in [{} - {}]", std::is_integral_v<Number> ? "INT" : "FLOAT", least, most)};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  return {[=](const std::string& text) {
            const bool known = std::ranges::find(words, text) != words.end();
            return known ? std::string() : fmt::format("{} is none of {}", in_quotes(text), list);
          },
          fmt::format("{{{}}}", list)};
}

// "80GiB", "141 GB".
double parse_bytes(const char* option, const std::string& text) {
  struct Unit {
    std::string_view word;
    double bytes;
  };
  static constexpr Unit units[] = {{"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                                   {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto unit = std::ranges::find(units, rest, &Unit::word);
  if (problem != std::errc() || unit == std::end(units) || !(number > 0) || !std::isfinite(number))
    throw Error(
        ExitCode::command_line,
        fmt::format("{}: {} is no size of a memory; write one as 80GiB, 141GB", option, in_quotes(text)));
  return number * unit->bytes;
}

CLI::App* add_deck_verb(CLI::App& app, const char* name, const char* description, CommandLine& command,
                        std::string& from) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->add_option("deck", command.file, "the deck, a YAML file");
  verb->add_option("--from", from, "instead: a file that a run wrote, .hdf, with its resolved deck in it");
  verb->add_option("overrides", command.overrides, "key.path=value: replaces any key of the deck");
  return verb;
}

void add_baseline(CLI::App& verb, BaselineOptions& baseline) {
  CLI::Option* const file =
      verb.add_option("--baseline", baseline.file,
                      "an earlier record of this verb; exit code 76 where a figure of merit got worse");
  verb.add_option("--tolerance", baseline.tolerance, "percent that it may get worse (default: 5)")
      ->check(number_from(0.0, 1000.0))
      ->needs(file);
}

void declare_bench(CLI::App& app, CommandLine& command, BenchWords& words) {
  CLI::App* bench =
      app.add_subcommand("bench", "measure the rows of the tables on this machine, and check them");
  bench->add_option("subject", words.subject,
                    "stencil, reduction, bandwidth, halo or io (these two of all ranks)");
  const auto option = [&](const char* name, std::string& word, const char* description) {
    bench->add_option(name, word, description);
  };
  option("--sizes", words.sizes,
         "cells: 256,384 (cubes) or 256x128x64 (default: 256 on the CPU, 512 on a GPU)");
  option("--precision", words.precision, "fp32,fp64 (default: both)");
  option("--rows", words.rows, "rows by name, a,b; halo: transports (default: all of the device)");
  option("--policies", words.policies, "stencil: first or all (default: first)");
  option("--depths", words.depths, "stencil: fused sweeps, 1,2,4 (default: all that a row has)");
  option("--ghosts", words.ghosts, "halo: ghost layers, 1,2,4 (default)");
  option("--device", words.device, "auto, cpu or cuda (default: auto)");
  option("--norm", words.norm, "stencil: with the fused norm of the update: max, l1 or l2");
  bench->add_flag("--walls", words.walls, "stencil: with six walls, and what the row needs of them");
  bench->add_flag("--source", words.source, "stencil: with a source field");
  bench->add_flag("--overlap", words.overlap,
                  "stencil: as beside an exchange on six faces: the interior, then the rest");
  option("--op", words.op, "reduction: sum, max, l1 or l2 of the difference of two fields (default: l2)");
  option("--seconds", words.seconds, "time of measuring, a row (default: 1)");
  option("--seed", words.seed, "of the random fields (default: 1)");
  option("--folder", words.folder, "io: where the files are written (default: here)");
  option("--repeats", words.repeats, "io: files of each way (default: 5)");
  option("--json", words.json, "write everything measured to this file");
  add_baseline(*bench, command.baseline);
}

void declare_compare(CLI::App& app, CommandLine& command, std::string& from) {
  CLI::App* compare = add_deck_verb(
      app, "compare",
      "run all legal combinations of what a deck leaves open, check their bits, rank their times", command,
      from);
  CompareOptions& options = command.compare;
  compare->add_option("--axes", options.axes,
                      "what varies: kernel,policy,transport,overlap,depth,process_grid,graph,reduction "
                      "(default: those that the deck leaves open, but policy, within the limit)");
  compare->add_option("--limit", options.limit, "the most combinations (default: 200)")
      ->check(number_from(1, 100000));
  compare->add_option("--sweeps", options.sweeps, "sweeps of a sample (default: by --seconds)")
      ->check(number_from(1, 1000000));
  compare->add_option("--seconds", options.seconds, "time of samples, a combination (default: 1)")
      ->check(number_from(0.001, 3600.0));
  compare->add_option("--json", options.json, "write everything measured to this file");
  compare->add_option("--keep", options.keep, "keep the fastest rows in this file, for solver.tuning_file");
  add_baseline(*compare, command.baseline);
}

void declare_check(CLI::App& check, CommandLine& command) {
  CheckOptions& options = command.check;
  check.add_option("--ranks", command.ranks, "plan for so many ranks (default: those launched)")
      ->check(number_from(1, 1 << 24));
  check.add_flag("--ranks-table", options.ranks_table, "a line a rank, also where there are many");
  check.add_flag("--json", options.json,
                 "answer requests about the deck that stand as JSON on stdin, for programs");
  check.add_flag("--resolved", options.resolved, "print the resolved deck too: every key that applies");
  check.add_option_function<std::string>(
      "--gpu-memory", [&](const std::string& text) { options.gpu_bytes = parse_bytes("--gpu-memory", text); },
      "plan for GPUs, here or not, with so much memory each: 80GiB, 141GB");
}

constexpr std::array progress_words{"auto", "bar", "lines", "off"};  // as ProgressChoice has them

void declare(CLI::App& app, CommandLine& command, std::string& from, BenchWords& bench) {
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", version_text());

  CLI::App* run = add_deck_verb(app, "run", "solve the deck's problem", command, from);
  run->add_option_function<std::string>(
         "--progress",
         [&](const std::string& text) {
           command.progress =
               static_cast<ProgressChoice>(std::ranges::find(progress_words, text) - progress_words.begin());
         },
         "as it runs: auto, bar (a line that is rewritten), lines or off")
      ->check(one_of({progress_words.begin(), progress_words.end()}));
  run->add_option("--restart", command.restart,
                  "go on from a checkpoint: latest (of the run's directory), a file, or a folder");
  run->add_flag("--force", command.force, "take the run's directory though another run seems to write there");
  run->add_flag(
      "--profile", command.profile,
      "print where the time of each rank went, and keep it in run.json; on a GPU the host then waits "
      "for the device behind every phase, so that nothing overlaps and nothing is queued as graphs");
  add_baseline(*run, command.baseline);

  CLI::App* check =
      add_deck_verb(app, "check", "validate a deck and say what a run of it would need", command, from);
  declare_check(*check, command);

  app.add_subcommand("list", "kernels, reductions, transports and devices of this build and machine")
      ->add_flag("--json", command.list_json, "as JSON, for scripts");
  app.add_subcommand("init", "print a commented deck with every key")
      ->add_flag("--minimal", command.minimal_deck, "a short one instead, with only what a run needs");
  CLI::App* schema =
      app.add_subcommand("schema", "print the JSON Schema of decks, for editors, or of records");
  schema->add_option("of", command.schema, "deck (default), or run: what run.json holds")
      ->check(one_of({"deck", "run"}));
  CLI::App* info = app.add_subcommand("info", "what a snapshot holds, and whether it is whole");
  info->add_option("file", command.file, "a snapshot, .hdf")->required();
  info->add_flag("--deck", command.print_deck, "print the deck inside the file instead");
  declare_bench(app, command, bench);
  declare_compare(app, command, from);
}

constexpr const char* verb_words[] = {"run",    "check", "list",  "init",
                                      "schema", "info",  "bench", "compare"};  // as Verb has them

Verb verb_of(const CLI::App& app) {
  const auto found = std::ranges::find(verb_words, app.get_subcommands().front()->get_name());
  return static_cast<Verb>(found - std::begin(verb_words));
}

// Exactly one of deck and --from. Without a deck the first override stood in its place.
void take_deck(CommandLine& command, const std::string& from) {
  if (command.verb != Verb::run && command.verb != Verb::check && command.verb != Verb::compare) return;
  if (from.empty()) {
    if (command.file.empty()) throw CLI::RequiredError("deck");
    return;
  }
  if (!command.file.empty()) command.overrides.insert(command.overrides.begin(), command.file);
  command.file = from;
  command.from_output = true;
}

// Where the overrides stand. They are the last words that belong to no option, so they are sought from the
// end: from the front one could be taken for the verb or the deck.
std::vector<int> positions(int argc, const char* const* argv, const std::vector<std::string>& overrides) {
  std::vector<int> places(overrides.size());
  int at = argc - 1;
  for (std::size_t n = overrides.size(); n-- > 0; --at) {
    while (at > 1 && overrides[n] != argv[at]) --at;
    places[n] = at;
  }
  return places;
}

// The words from `first` on, to paste.
std::string words_from(int first, int argc, const char* const* argv) {
  std::string words;
  for (int i = first; i < argc; ++i) words += " " + shell_word(argv[i]);
  return words;
}

// Where a file stands in place of a verb: what to write. Empty where none does.
std::string file_problem(int argc, const char* const* argv) {
  const std::string kind = std::filesystem::path(argv[1]).extension().string();
  const char* const verb = kind == ".yaml" || kind == ".yml" ? "run" : kind == ".hdf" ? "info" : nullptr;
  if (!verb) return {};
  return fmt::format("{} is no verb; write: isotherm {}{}", in_quotes(argv[1]), verb,
                     words_from(1, argc, argv));
}

constexpr std::string_view deck_verbs[] = {"run", "check", "study", "compare"};

// Keys of decks are no options: what to write for the first that has dashes before it. Empty where none has.
std::string dash_problem(int argc, const char* const* argv) {
  if (std::ranges::find(deck_verbs, std::string_view(argv[1])) == std::end(deck_verbs)) return {};
  Config config;
  StudyConfig study;
  const Keys keys = describe(config, study);
  for (int i = 2; i < argc; ++i) {
    std::string words(argv[i]);
    if (!words.starts_with("--")) continue;
    words.erase(0, 2);
    if (!find_key(keys, words.substr(0, words.find_first_of(".=")))) continue;
    if (words.find('=') == words.npos) words += fmt::format("={}", i + 1 < argc ? argv[i + 1] : "VALUE");
    return fmt::format("argument {}: {} is no option; write {} without dashes", i, in_quotes(argv[i]),
                       shell_word(words));
  }
  return {};
}

// CLI11 says of an unknown verb only that one is required.
std::string verb_problem(const char* const* argv, const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  for (const std::string& tool : find_tools()) verbs.push_back(tool);
  const std::string problem = *argv[1] == '-'
                                  ? fmt::format("{} stands where a verb is wanted", in_quotes(argv[1]))
                                  : fmt::format("unknown verb {}", in_quotes(argv[1]));
  return fmt::format("{}; use one of {}", problem, fmt::join(verbs, ", "));
}

std::string tools_text() {
  const std::vector<std::string> tools = find_tools();
  return tools.empty()
             ? ""
             : fmt::format("Tools: {} (isotherm NAME --help has more).\n\n", fmt::join(tools, ", "));
}

// The tool reads its own words. Keys of decks with dashes are refused here, by the one key table.
CommandLineResult call_of_tool(int argc, const char* const* argv) {
  if (const std::string problem = dash_problem(argc, argv); !problem.empty())
    return {std::nullopt, static_cast<int>(ExitCode::command_line), fmt::format("isotherm: {}\n", problem)};
  CommandLineResult result;
  result.tool = argv[1];
  return result;
}

}  // namespace

const char* word(Verb verb) {
  return verb_words[static_cast<int>(verb)];
}

std::vector<std::string> without(const std::vector<std::string>& overrides, std::string_view key) {
  std::vector<std::string> others;
  std::ranges::copy_if(overrides, std::back_inserter(others), [&](const std::string& override) {
    return override.substr(0, override.find('=')) != key;
  });
  return others;
}

std::string run_words(const CommandLine& command, const std::vector<std::string>& overrides) {
  std::string words = command.from_output ? "isotherm run --from " : "isotherm run ";
  words += shell_word(command.file);
  for (const std::string& override : overrides) words += " " + shell_word(override);
  return words;
}

CommandLineResult parse_command_line(int argc, const char* const* argv) {
  CLI::App app("isotherm: multi-GPU 3-D heat diffusion; a YAML deck in, HDF5 snapshots out", "isotherm");
  CommandLine command;
  std::string from;
  BenchWords bench;
  declare(app, command, from, bench);
  app.footer(tools_text() + exit_codes);
  const auto refused = [](const std::string& text) {
    return CommandLineResult{std::nullopt, static_cast<int>(ExitCode::command_line), text};
  };
  if (argc < 2) return refused(app.help());
  if (std::ranges::find(verb_words, std::string_view(argv[1])) == std::end(verb_words)) {
    if (find_tool(argv[1])) return call_of_tool(argc, argv);
    if (is_known_tool(argv[1]))
      return {std::nullopt, static_cast<int>(ExitCode::unavailable),
              fmt::format("isotherm: {}\n", missing_tool_text(argv[1]))};
  }
  try {
    app.parse(argc, argv);
    command.verb = verb_of(app);
    take_deck(command, from);
    if (command.verb == Verb::bench) command.bench = parse_bench(bench);
    if (command.verb == Verb::compare) parse_axes(command.compare.axes);
  } catch (const CLI::CallForVersion&) {
    return {std::nullopt, 0, version_text() + "\n"};
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, 0, app.help()};
  } catch (const CLI::ParseError& e) {
    const bool has_verb = !app.get_subcommands().empty();
    const std::string remedy = has_verb ? dash_problem(argc, argv) : file_problem(argc, argv);
    if (!remedy.empty()) return refused(fmt::format("isotherm: {}\n", remedy));
    return refused(
        fmt::format("isotherm: {}; see isotherm --help\n", has_verb ? e.what() : verb_problem(argv, app)));
  } catch (const Error& e) {
    return {std::nullopt, static_cast<int>(e.code()), fmt::format("isotherm: {}\n", e.what())};
  }
  for (int i = 0; i < argc; ++i) command.program += fmt::format("{}{}", i ? " " : "", argv[i]);
  command.override_arguments = positions(argc, argv, command.overrides);
  return {std::move(command), 0, ""};
}

}  // namespace isotherm
