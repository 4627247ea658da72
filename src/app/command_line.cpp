#include "app/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <type_traits>

#include "config/key_table.hpp"
#include "core/build_info.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

// Tools of isotherm, separate Python programs: `isotherm NAME` starts isotherm-NAME.

namespace fs = std::filesystem;

constexpr std::string_view prefix = "isotherm-";
constexpr const char* known_tools = ISOTHERM_TOOLS;  // "animate,report,study", of postprocess/pyproject.toml

std::string this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).string();
}

std::vector<fs::path> folders() {
  const fs::path here = fs::path(this_program()).parent_path();
  // Folders of the build tree, and of an installation.
  std::vector<fs::path> all{here / "tools", here, (here / ISOTHERM_TOOL_FOLDER).lexically_normal()};
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "", ':'))
    if (!folder.empty()) all.emplace_back(folder);
  return all;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == name.npos;
}

std::optional<std::string> find_tool(const std::string& name) {
  for (const fs::path& folder : folders())
    if (const fs::path path = folder / (std::string(prefix) + name); is_name(name) && is_program(path))
      return path.string();
  return std::nullopt;
}

std::vector<std::string> find_tools() {  // names, sorted
  std::set<std::string> names;
  for (const fs::path& folder : folders()) {
    std::error_code error;
    fs::directory_iterator entry(folder, error), end;
    for (; !error && entry != end; entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      if (file.starts_with(prefix) && is_name(file.substr(prefix.size())) && is_program(entry->path()))
        names.insert(file.substr(prefix.size()));
    }
  }
  return {names.begin(), names.end()};
}

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
            const auto value = read_number<Number>(text);
            const bool good = value && least <= *value && *value <= most;
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

// Replaces a word by the number of its value, which CLI11 converts to an enum, an int or a bool.
template <class Value>
CLI::Validator value_of(std::vector<std::pair<std::string, Value>> values) {
  std::vector<std::string> words;
  for (const auto& [word, value] : values) words.push_back(word);
  const CLI::Validator known = one_of(words);
  return (known & CLI::Transformer(values)).description(known.get_description());
}

template <class Enum>
CLI::Validator value_of() {
  std::vector<std::pair<std::string, Enum>> values;
  for (const std::string_view word : words_of<Enum>) values.emplace_back(word, *from_word<Enum>(word));
  return value_of(values);
}

// "80GiB", "141 GB".
double parse_bytes(const std::string& text) {
  static const std::map<std::string_view, double> units{{"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                                                        {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  const std::string_view all(text);
  const std::size_t end = all.find_first_of(" MGT");
  const auto number = read_number<double>(all.substr(0, end));
  const auto unit = units.find(all.substr(std::min(all.find_first_not_of(' ', end), all.size())));
  if (!number || unit == units.end() || !(*number > 0) || !std::isfinite(*number))
    throw error_of(ExitCode::command_line,
                   "--gpu-memory: {} is no size of a memory; write one as 80GiB, 141GB", in_quotes(text));
  return *number * unit->second;
}

CLI::App* add_deck_subcommand(CLI::App& app, const char* name, const char* description, CommandLine& command,
                              std::string& from) {
  CLI::App* subcommand = app.add_subcommand(name, description);
  subcommand->add_option("deck", command.file, "the deck, a YAML file");
  subcommand->add_option("--from", from, "instead of a deck: an .hdf file of a run, with its resolved deck");
  subcommand->add_option("overrides", command.overrides, "key.path=value: replaces any key of the deck");
  return subcommand;
}

// "256" or "256x128x64".
Int3 parse_size(const std::string& text) {
  constexpr Index most = Index{1} << 20;  // an axis: the cells of a cube still fit 64 bits
  std::vector<Index> cells;
  for (const std::string& axis : split(text, 'x')) cells.push_back(read_number<Index>(axis).value_or(0));
  if (cells.size() == 1) cells.resize(3, cells[0]);
  if (cells.size() != 3 || std::ranges::any_of(cells, [](Index n) { return n < 1 || n > most; }))
    throw CLI::ValidationError("--sizes", fmt::format("{} is no size (an edge such as 256, or 256x128x64; an "
                                                      "axis has 1 to 1048576 cells)",
                                                      in_quotes(text)));
  return {cells[0], cells[1], cells[2]};
}

// A list with commas, as one word.
template <class Values>
CLI::Option* add_list(CLI::App* app, const std::string& name, Values& values,
                      const std::string& description) {
  return app->add_option(name, values, description)->delimiter(',')->allow_extra_args(false);
}

CLI::App* add_subject(CLI::App& bench, BenchSubject subject, const char* description, const char* sizes,
                      CommandLine& command) {
  BenchOptions& options = command.bench;
  CLI::App* app = bench.add_subcommand(std::string(word(subject)), description);
  app->add_option_function<std::vector<std::string>>(
         "--sizes",
         [&](const std::vector<std::string>& texts) {
           std::ranges::transform(texts, std::back_inserter(options.sizes), parse_size);
         },
         fmt::format("cells: 256,384 (cubes) or 256x128x64 (default: {})", sizes))
      ->type_name("TEXT:SIZE")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_list(app, "--precision", options.precisions, "default: fp32 and fp64")
      ->transform(value_of<Precision>());
  app->add_option("--seed", options.seed, "of the random fields (default: 1)")
      ->check(number_from(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
  app->add_option("--json", options.json, "write all measurements to this file");
  return app;
}

// Options of all subjects except io, which writes from host memory.
CLI::App* add_names(CLI::App* app, const std::string& names, double seconds, BenchOptions& options,
                    bool by_time = true) {
  app->preparse_callback([&options, seconds](std::size_t) { options.seconds = seconds; });
  if (!names.empty())
    add_list(app, "--" + names, options.names,
             fmt::format("{} by name, a,b (default: all of the device)", names));
  app->add_option("--device", options.device, "default: auto")
      ->transform(value_of<DeviceChoice>({{"auto", DeviceChoice::automatic},
                                          {"cpu", DeviceChoice::cpu},
                                          {"cuda", DeviceChoice::cuda},
                                          {"gpu", DeviceChoice::cuda}}));
  if (!by_time) return app;
  app->add_option("--seconds", options.seconds,
                  fmt::format("time of measuring each entry (default: {})", seconds))
      ->check(number_from(1e-6, 3600.0));
  return app;
}

void declare_stencil(CLI::App* app, BenchOptions& options) {
  app->add_option("--tiles", options.all_tiles, "default: first")
      ->transform(value_of<bool>({{"first", false}, {"all", true}}));
  add_list(app, "--time-blocks", options.time_blocks,
           "sweeps per launch, 1,2,4, or all of the kernel (default)")
      ->transform(number_from(1, 64) | value_of<int>({{"all", 0}}));
  app->callback([&options] {
    if (std::ranges::find(options.time_blocks, 0) != options.time_blocks.end()) options.time_blocks.clear();
  });
  app->add_option("--norm", options.norm, "with the fused norm of the update")
      ->transform(value_of<ReductionOp>(
          {{"max", ReductionOp::max_abs}, {"l1", ReductionOp::sum_abs}, {"l2", ReductionOp::sum_squares}}));
  app->add_flag("--boundaries", options.boundaries, "with boundary conditions on six faces");
  app->add_flag("--source", options.source, "with a source field");
  app->add_flag("--overlap", options.overlap,
                "as during an exchange on six faces: the interior, then the exterior");
}

void declare_bench(CLI::App& app, CommandLine& command) {
  CLI::App* bench =
      app.add_subcommand("bench", "check and measure the kernels of the registry on this machine");
  bench->require_subcommand(1);
  BenchOptions& options = command.bench;
  constexpr const char* grid = "256 on the CPU, 512 on a GPU";
  const auto add = [&](BenchSubject subject, const char* description, const char* sizes) {
    return add_subject(*bench, subject, description, sizes, command);
  };
  declare_stencil(
      add_names(add(BenchSubject::stencil, "sweeps of the stencil kernels", grid), "kernels", 1, options),
      options);
  add_names(add(BenchSubject::reduction, "reduction kernels, on the difference of two fields", grid),
            "kernels", 1, options)
      ->add_option("--op", options.op, "what is computed (default: l2)")
      ->transform(value_of<ReductionOp>());
  add_names(add(BenchSubject::bandwidth, "memory bandwidth: copies and other ways to move arrays", grid),
            "kernels", 1, options);
  CLI::App* formula =
      add_names(add(BenchSubject::formula, "a formula of x, y, z and t, at the points of a box", "512x512x1"),
                "", 1, options);
  formula->add_option("--formula", options.formula, "(default: a spot that moves over a face)");
  CLI::App* halo = add_names(
      add(BenchSubject::halo, "halo exchange by each transport, across each face of all ranks", "64,256"),
      "transports", 0.05, options);
  add_list(halo, "--ghosts", options.ghosts, "layers (default: 1,2,4)")->check(number_from(1, 64));
  CLI::App* io = add(BenchSubject::io, "snapshots compared with plain writes, by all ranks", "256");
  io->add_option("--folder", options.folder, "where the files are written (default: here)");
  io->add_option("--repeats", options.repeats, "files of each way (default: 5)")->check(number_from(1, 1000));
  CLI::App* solve =
      add_names(add(BenchSubject::solve, "steady methods, from start to tolerance, on all ranks", grid),
                "methods", 1, options, false);
  solve->add_option("--repeats", options.repeats, "solutions (default: 5)")->check(number_from(1, 1000));
  solve->add_option("--deck", options.deck,
                    "of the body, on its own cells or --sizes (default: a uniform cube)");
}

void declare_check(CLI::App& check, CommandLine& command) {
  CheckOptions& options = command.check;
  check.add_option("--ranks", command.ranks, "plan for so many ranks (default: those launched)")
      ->check(number_from(1, 1 << 24));
  check.add_flag("--ranks-table", options.ranks_table, "a line per rank, also where there are many");
  check.add_flag("--json", options.json, "answer requests about the deck from stdin, in JSON, for programs");
  check.add_flag("--resolved", options.resolved, "print the resolved deck too: every key that applies");
  check.add_option_function<std::string>(
      "--gpu-memory", [&](const std::string& text) { options.gpu_bytes = parse_bytes(text); },
      "plan for GPUs, here or not, with so much memory each: 80GiB, 141GB");
}

void declare(CLI::App& app, CommandLine& command, std::string& from) {
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", version_text());

  CLI::App* run = add_deck_subcommand(app, "run", "solve the deck's problem", command, from);
  run->add_option("--progress", command.progress,
                  "as it runs: bar is a line that is rewritten (default: auto)")
      ->transform(value_of<ProgressStyle>());
  run->add_option("--restart", command.restart,
                  "resume from a checkpoint: latest (of the run's directory), a file, or a folder")
      ->check([](const std::string& text) {  // as from a shell variable that is not set
        return text.empty() ? "is empty; write latest, a file or a folder" : "";
      });
  run->add_flag("--force", command.force, "take the run's directory though another run seems to write there");
  run->add_flag(
      "--profile", command.profile,
      "print the time of each phase on each rank, also in run.json; on a GPU the host then waits for the "
      "device after every phase, so that nothing overlaps and nothing is queued as graphs");

  CLI::App* check =
      add_deck_subcommand(app, "check", "validate a deck and say what a run of it would need", command, from);
  declare_check(*check, command);

  app.add_subcommand("list", "kernels, reductions, transports and devices of this build and machine")
      ->add_flag("--json", command.list_json, "as JSON, for scripts");
  app.add_subcommand("init", "print a commented deck with every key")
      ->add_flag("--minimal", command.minimal_deck, "a short one instead, with only what a run needs");
  CLI::App* schema =
      app.add_subcommand("schema", "print the JSON Schema of decks, for editors, or of records");
  schema->add_option("of", command.schema, "deck (default), or run, for run.json")
      ->check(one_of({"deck", "run"}));
  CLI::App* info = app.add_subcommand("info", "show a snapshot or checkpoint, and verify its cells");
  info->add_option("file", command.file, "a snapshot or checkpoint, .hdf")->required();
  info->add_flag("--deck", command.print_deck, "print the deck inside the file instead");
  declare_bench(app, command);
}

// Requires exactly one of deck and --from. With --from, CLI11 takes the first override for the deck.
void take_deck(CommandLine& command, const std::string& from) {
  if (command.subcommand != Subcommand::run && command.subcommand != Subcommand::check) return;
  if (from.empty()) {
    if (command.file.empty()) throw CLI::RequiredError("deck");
    return;
  }
  if (!command.file.empty()) command.overrides.insert(command.overrides.begin(), command.file);
  command.file = from;
  command.from_output = true;
}

// Positions of the overrides in argv. Searched from the end, as the first could equal the subcommand or deck.
std::vector<int> positions(int argc, const char* const* argv, const std::vector<std::string>& overrides) {
  std::vector<int> places(overrides.size());
  int at = argc - 1;
  for (std::size_t n = overrides.size(); n-- > 0; --at) {
    while (at > 1 && overrides[n] != argv[at]) --at;
    places[n] = at;
  }
  return places;
}

// The advice if a file is given in place of a subcommand; else empty.
std::string file_problem(int argc, const char* const* argv) {
  const std::string kind = std::filesystem::path(argv[1]).extension().string();
  const char* const subcommand = kind == ".yaml" || kind == ".yml" ? "run"
                                 : kind == ".hdf"                  ? "info"
                                                                   : nullptr;
  if (!subcommand) return {};
  std::string text = fmt::format("{} is no subcommand; write: isotherm {}", in_quotes(argv[1]), subcommand);
  for (int i = 1; i < argc; ++i) text += " " + shell_word(argv[i]);
  return text;
}

constexpr std::string_view deck_subcommands[] = {"run", "check", "study", "compare"};

// Keys of decks are no options: the advice for the first key with leading dashes; empty: there is none.
std::string dash_problem(int argc, const char* const* argv) {
  if (std::ranges::find(deck_subcommands, std::string_view(argv[1])) == std::end(deck_subcommands)) return {};
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

// The advice for an option of earlier versions that was renamed or is now a command; empty: there is none.
std::string former_option_problem(int argc, const char* const* argv) {
  const std::string_view subcommand(argv[1]);
  if (subcommand != "run" && subcommand != "bench") return {};
  const std::string_view names =
      argc > 2 && argv[2] == word(BenchSubject::halo) ? "--transports" : "--kernels";
  const std::pair<std::string_view, std::string_view> renamed[] = {{"--rows", names},
                                                                   {"--policies", "--tiles"},
                                                                   {"--depths", "--time-blocks"},
                                                                   {"--walls", "--boundaries"}};
  for (int i = 2; i < argc; ++i) {
    const std::string_view words(argv[i]), option = words.substr(0, words.find('='));
    if (option == "--baseline") {
      const std::string file(words.size() > option.size() ? words.substr(option.size() + 1)
                             : i + 1 < argc               ? argv[i + 1]
                                                          : "EARLIER.json");
      return fmt::format("--baseline is a command now; write after the {}: isotherm baseline {} {}",
                         subcommand, shell_word(file),
                         subcommand == "run" ? "RUN_DIRECTORY/run.json" : "LATER.json");
    }
    for (const auto& [before, now] : renamed)
      if (subcommand == "bench" && option == before) return fmt::format("{} is called {} now", before, now);
  }
  return {};
}

// CLI11 says of an unknown subcommand only that one is required.
std::string subcommand_error(const char* const* argv, const CLI::App& app) {
  std::vector<std::string> subcommands;
  for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; }))
    subcommands.push_back(subcommand->get_name());
  for (const std::string& tool : find_tools()) subcommands.push_back(tool);
  const std::string problem =
      *argv[1] == '-' ? fmt::format("{} is given where a subcommand is expected", in_quotes(argv[1]))
                      : fmt::format("unknown subcommand {}", in_quotes(argv[1]));
  return fmt::format("{}; use one of {}", problem, fmt::join(subcommands, ", "));
}

// CLI11 says of an unknown subject only that a subcommand is required.
std::string problem_text(const CLI::ParseError& e, const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App& subcommand = *app.get_subcommands().front();
  if (subcommand.get_require_subcommand_min() == 0 || !subcommand.get_subcommands().empty()) return e.what();
  const bool given = argc > 2 && *argv[2] != '-';
  return fmt::format("bench: {}; use one of {}",
                     given ? fmt::format("unknown subject {}", in_quotes(argv[2])) : "no subject is given",
                     fmt::join(words_of<BenchSubject>, ", "));
}

// The subject of `isotherm bench`, which has its own options; else empty.
std::string subject_of(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  if (subcommands.empty() || subcommands.front()->get_subcommands().empty()) return "";
  return subcommands.front()->get_subcommands().front()->get_name();
}

}  // namespace

void start_tool(const std::string& name, const std::vector<std::string>& words) {
  const std::optional<std::string> path = find_tool(name);
  if (!path)
    throw error_of(
        ExitCode::unavailable,
        "isotherm: the tool {}{} is not installed (it is neither next to {}, nor in {} there, nor on PATH); "
        "install isotherm anew, or the folder postprocess of its sources by pip",
        prefix, name, in_quotes(this_program()), ISOTHERM_TOOL_FOLDER);
  ::setenv("ISOTHERM_PROGRAM", this_program().c_str(), 1);  // for the tool: it runs and queries this program
  std::vector<std::string> all{*path};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(path->c_str(), pointers.data());
  throw error_of(ExitCode::unavailable, "cannot start {} ({}); install it anew", in_quotes(*path),
                 std::strerror(errno));
}

CommandLineResult parse_command_line(int argc, const char* const* argv) try {
  CLI::App app("isotherm: multi-GPU 3-D heat diffusion; a YAML deck in, HDF5 snapshots out", "isotherm");
  CommandLine command;
  std::string from;
  declare(app, command, from);
  app.footer([] {  // for the help only: thousands of starting ranks must not list the folders of PATH
    const std::string tools = fmt::format("{}", fmt::join(find_tools(), ", "));
    return (tools.empty() ? "" : fmt::format("Tools: {} (isotherm NAME --help has more).\n\n", tools)) +
           exit_codes;
  });
  if (argc < 2) return {.exit_code = static_cast<int>(ExitCode::command_line), .text = app.help()};
  const std::vector<std::string> tools = split(known_tools, ',');  // of this version, installed or not
  if (!from_word<Subcommand>(argv[1]) && (find_tool(argv[1]) || std::ranges::count(tools, argv[1]) > 0)) {
    // The tool parses its own arguments. Keys of decks with dashes are rejected here, by the one key table.
    if (const std::string problem = dash_problem(argc, argv); !problem.empty())
      throw Error(ExitCode::command_line, problem);
    return {.tool = argv[1]};
  }
  try {
    app.parse(argc, argv);
    command.subcommand = *from_word<Subcommand>(app.get_subcommands().front()->get_name());
    take_deck(command, from);
    if (command.subcommand == Subcommand::bench)
      command.bench.subject = *from_word<BenchSubject>(subject_of(app));
  } catch (const CLI::CallForVersion&) {
    return {.text = version_text() + "\n"};
  } catch (const CLI::CallForHelp&) {
    return {.text = app.help()};
  } catch (const CLI::ParseError& e) {
    const bool has_subcommand = !app.get_subcommands().empty();
    std::string remedy = has_subcommand ? dash_problem(argc, argv) : file_problem(argc, argv);
    if (has_subcommand && remedy.empty()) remedy = former_option_problem(argc, argv);
    if (!remedy.empty()) throw Error(ExitCode::command_line, remedy);
    const std::string subject = subject_of(app);
    throw error_of(ExitCode::command_line, "{}; see isotherm{} --help",
                   has_subcommand ? problem_text(e, app, argc, argv) : subcommand_error(argv, app),
                   subject.empty() ? "" : " bench " + subject);
  }
  for (int i = 0; i < argc; ++i) command.program += fmt::format("{}{}", i ? " " : "", argv[i]);
  command.override_arguments = positions(argc, argv, command.overrides);
  return {.command = std::move(command)};
} catch (const Error& e) {
  throw Error(e.code(), std::string("isotherm: ") + e.what());
}

}  // namespace isotherm
