#include "app/load.hpp"

#include <fmt/format.h>

#include <functional>

#include "config/deck.hpp"
#include "config/renamed.hpp"
#include "core/agree.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "output/field_files/snapshot_header.hpp"

namespace isotherm {
namespace {

// Ranks of one job that were started with different binaries or arguments would solve different problems and
// meet in one all-reduce.
void compare_ranks(const CommandLine& command, const Communicator& world) {
  std::string mine =
      fmt::format("isotherm {} {} {}{}{} {}", build_info().version, build_info().git_revision,
                  word(command.verb), command.ranks ? fmt::format(" --ranks {}", command.ranks) : "",
                  command.from_output ? " --from" : "", command.file);
  if (!command.restart.empty()) mine += " --restart " + command.restart;
  if (command.profile) mine += " --profile";
  if (command.check.gpu_bytes > 0) mine += fmt::format(" --gpu-memory {}", command.check.gpu_bytes);
  if (command.force) mine += " --force";
  for (const std::string& o : command.overrides) mine += " " + o;
  const std::vector<std::string> all = world.all_gather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw CollectiveError(
        ExitCode::internal,
        fmt::format("rank {} runs '{}' and rank 0 runs '{}' (one job is one problem); start all "
                    "ranks with the same program and arguments",
                    rank, all[rank], all[0]));
  }
}

// The resolved one: with the overrides of that run, and its datasets by their whole paths.
std::string deck_within(const SnapshotProvenance& from, const std::string& file) {
  if (from.resolved_deck.empty())
    throw Error(
        ExitCode::deck,
        fmt::format("{}: holds no deck (its /isotherm/resolved_deck is empty); name another file, or a deck",
                    file));
  if (from.name.find('/') != std::string::npos)
    throw Error(ExitCode::deck,
                fmt::format("{}: the run's name {} is no file name (a '/' in it would lead out of the run "
                            "directory); name another file, or a deck",
                            file, in_quotes(from.name)));
  return from.resolved_deck;
}

// Of the same name. It replaces a run, such as the one that it comes from, only where the command line says
// so.
void be_another_run(Config& config, const std::string& name) {
  if (!name.empty()) config.name = name;
  if (config.at("output.overwrite").rfind("argument ", 0) != 0) config.output.overwrite = false;
}

}  // namespace

KnownRows known_rows() {
  KnownRows rows;
  for (const auto& row : stencil_kernels<double>()) {
    rows.kernels.push_back({std::string(row.name), row.available(), row.backend == Backend::cuda});
  }
  for (const auto& row : reduction_kernels<double>()) {
    rows.reductions.push_back({std::string(row.name), row.available(), row.backend == Backend::cuda});
  }
  for (const auto& row : histogram_kernels<double>()) {
    rows.histograms.push_back({std::string(row.name), row.launch != nullptr, row.backend == Backend::cuda});
  }
  for (const auto& row : transport_rows<double>()) {
    rows.transports.push_back({std::string(row.name), row.moves_data});
  }
  return rows;
}

LoadedDeck load_deck(const CommandLine& command, const Communicator& world) {
  compare_ranks(command, world);
  LoadedDeck deck;
  std::string name;  // of the run that left the deck
  agree(world, [&] {
    if (!world.is_root()) return;
    if (!command.from_output) {
      deck.text = read_deck_file(command.file);
      return;
    }
    const SnapshotHeader header = read_snapshot_header(command.file);
    deck.text = stored_deck_text(deck_within(header.provenance, command.file));
    name = header.provenance.name;
  });
  deck.text = world.broadcast(deck.text);
  name = world.broadcast(name);
  deck.config = agree(world, [&] {
    return parse_deck(deck.text, command.file, command.overrides, known_rows(), command.override_arguments);
  });
  if (command.from_output) be_another_run(deck.config, name);
  return deck;
}

}  // namespace isotherm
