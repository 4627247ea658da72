#include "config/deck.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/overrides.hpp"
#include "config/problems.hpp"
#include "config/reader.hpp"
#include "config/renamed.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

// What follows from other keys where the deck says nothing.
void complete(Config& config, const std::string& path) {
  config.name = fs::path(path).stem().string();
  // Where halos are exchanged, a launch of several sweeps needs as many layers of ghosts.
  if (!config.solver.halo_width) config.solver.halo_width = config.solver.time_block;
  if (config.output.directory.empty()) config.output.directory = "runs/" + config.name;
  if (!config.output.snapshots) {  // a word on the command line switches them off, whatever the deck says
    config.output.every_steps.reset();
    config.output.every_time.reset();
  }
  if (config.initial.empty() && config.verify.solution != ExactSolution::none) {
    Paint exact;
    exact.shape = Shape::exact;
    config.initial.push_back(exact);
  }
  std::vector<ProbePoint>& points = config.output.probes.points;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].name.empty()) points[i].name = fmt::format("p{}", i);
  for (std::vector<Paint>* entries : {&config.initial, &config.sources}) {
    for (Paint& paint : *entries) {
      if (paint.shape == Shape::gaussian) paint.mode = PaintMode::add;
      // Absolute, so that the resolved deck finds it from anywhere.
      if (!paint.file.empty())
        paint.file = fs::absolute(fs::path(path).parent_path() / paint.file).lexically_normal().string();
    }
  }
}

}  // namespace

std::string read_deck_file(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw Error(
        ExitCode::file_missing,
        fmt::format("cannot read the deck {} ({}); name a deck that exists, or write one with isotherm init",
                    path, why));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  std::string text(largest_deck_bytes + 1, '\0');  // one more than a deck may have; a device may have no end
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) refuse(std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty())
    throw Error(ExitCode::deck,
                fmt::format("{}:1:1: the deck is empty; write at least a grid (isotherm init prints a "
                            "commented deck)",
                            path));
  if (text.size() > largest_deck_bytes)
    throw Error(ExitCode::deck,
                fmt::format("{}:1:1: the deck has more than {} bytes; put data in an HDF5 file", path,
                            largest_deck_bytes));
  return text;
}

YamlNode read_tree(const std::string& text, const std::vector<std::string>& overrides,
                   const std::vector<int>& arguments, Problems& problems) {
  const std::vector<Override> replacements = split_overrides(overrides, arguments);
  problems.remember("", {});
  YamlNode deck;
  try {
    deck = parse_yaml(text);
  } catch (const YamlError& error) {
    problems.add(error.place, "", error.problem);
    problems.throw_if_any();
  }
  if (deck.kind == YamlNode::Kind::map)
    for (const Override& replacement : replacements) apply_override(deck, replacement, problems);
  refuse_old_words(deck, problems);
  return deck;
}

std::optional<YamlKey> section_of_study(const YamlNode& deck) {
  for (std::size_t i = 0; i < deck.keys.size(); ++i)
    if (is_of_study(deck.keys[i].name) && deck.items[i].kind != YamlNode::Kind::null) return deck.keys[i];
  return std::nullopt;
}

Config parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& overrides,
                  const KnownRows& rows, const std::vector<int>& arguments) {
  Problems problems(path);
  const YamlNode deck = read_tree(text, overrides, arguments, problems);
  if (const auto section = section_of_study(deck)) {
    Problems alone(path);
    alone.add(section->place, section->name,
              fmt::format("the deck is of several cases, not of one run; start them with isotherm study {}",
                          shell_word(path)));
    alone.throw_if_any();
  }
  return settle_config(deck, path, rows, problems);
}

Config settle_config(const YamlNode& deck, const std::string& path, const KnownRows& rows,
                     Problems& problems) {
  Config config;
  read_config(deck, config, problems);
  if (deck.kind != YamlNode::Kind::map) problems.throw_if_any();
  complete(config, path);
  validate(config, rows, problems);
  problems.throw_if_any();
  config.places = problems.places();
  config.warnings = problems.warnings();
  return config;
}

}  // namespace isotherm
