#include "app/load.hpp"

#include <fmt/format.h>

#include <functional>

#include "config/deck.hpp"
#include "core/agree.hpp"
#include "core/build_info.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {
namespace {

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

// Ranks of one job that were started with different binaries or arguments would solve different problems and
// meet in one all-reduce.
void compare_ranks(const CommandLine& command, const Communicator& world) {
  std::string mine =
      fmt::format("isotherm {} {} {}{} {}", build_info().version, build_info().git_revision,
                  command.verb == Verb::check ? "check" : "run",
                  command.ranks ? fmt::format(" --ranks {}", command.ranks) : "", command.file);
  if (!command.restart.empty()) mine += " --restart " + command.restart;
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

}  // namespace

LoadedDeck load_deck(const CommandLine& command, const Communicator& world) {
  compare_ranks(command, world);
  LoadedDeck deck;
  agree(world, [&] {
    if (world.is_root()) deck.text = read_deck_file(command.file);
  });
  deck.text = world.broadcast(deck.text);
  deck.config = agree(world, [&] {
    return parse_deck(deck.text, command.file, command.overrides, known_rows(), command.override_arguments);
  });
  return deck;
}

}  // namespace isotherm
