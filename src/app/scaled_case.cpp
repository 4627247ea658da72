#include "app/scaled_case.hpp"

#include <fmt/format.h>

#include <limits>

#include "config/overrides.hpp"
#include "config/text.hpp"
#include "core/error.hpp"
#include "grid/process_grid.hpp"

namespace isotherm {
namespace {

using Kind = YamlNode::Kind;

YamlNode scalar(const std::string& text, const Place& place) {
  return {.kind = Kind::scalar, .place = place, .text = text};
}

template <class Text>
YamlNode triple(Text text, const Place& place) {
  YamlNode list{.kind = Kind::list, .place = place};
  for (int axis = 0; axis < 3; ++axis) list.items.push_back(scalar(text(axis), place));
  return list;
}

// Every exchanged cell alike, and nothing else.
ExchangeWeights surface() {
  ExchangeWeights weights;
  weights.cell_bytes = weights.sector = weights.wire_sector = 8;
  weights.memory = 1;
  weights.touches = 1;
  weights.wire = std::numeric_limits<double>::infinity();
  return weights;
}

void drop_value(YamlNode& deck, std::string_view section, std::string_view key) {
  for (std::size_t s = 0; s < deck.keys.size(); ++s) {
    if (deck.keys[s].name != section) continue;
    YamlNode& map = deck.items[s];
    for (std::size_t k = map.keys.size(); k-- > 0;) {
      if (map.keys[k].name != key) continue;
      map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(k));
      map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
}

void refuse_no_gpus(const Config& config) {
  if (config.parallel.device == DeviceChoice::cpu)
    throw Error(ExitCode::deck, fmt::format("{}: cpu (and scaling counts GPUs); write scaling.ranks, or cuda",
                                            config.at("parallel.device")));
  if (config.parallel.ranks_per_gpu.value_or(1) > 1)
    throw Error(ExitCode::deck,
                fmt::format("{}: {} (and scaling.gpus counts GPUs with a rank each); write scaling.ranks",
                            config.at("parallel.ranks_per_gpu"), *config.parallel.ranks_per_gpu));
}

}  // namespace

Int3 weak_growth(const Config& config, int ranks) {
  if (config.parallel.process_grid) return *config.parallel.process_grid;
  constexpr Index edge = Index{1} << 20;  // of a cube that any count can cut
  Int3 cube{edge, edge, edge};
  if (config.grid.cells.product() > 1)
    for (int axis = 0; axis < 3; ++axis)
      if (config.grid.cells[axis] == 1) cube[axis] = 1;
  return cheapest_process_grid(cube, ranks, {}, 1, surface()).grid;
}

bool scale_case(YamlNode& deck, const ScalingConfig& scaling, const Config& config, int ranks,
                const Place& place, Problems& problems) {
  if (!scaling.gpus.empty()) {
    refuse_no_gpus(config);
    put_value(deck, "parallel.device", scalar("cuda", place), problems);
    put_value(deck, "parallel.ranks_per_gpu", scalar("1", place), problems);
  }
  if (!scaling.is_given() || scaling.kind != ScalingKind::weak) return !scaling.gpus.empty();
  if (!config.verify.order.empty())
    throw Error(ExitCode::deck,
                fmt::format("{}: has grids of its own (and weak scaling lets that of the deck "
                            "grow); remove it, or write scaling.kind: strong",
                            config.at("verify.order")));
  const Int3 growth = weak_growth(config, ranks);
  const auto cells = [&](int axis) { return fmt::format("{}", config.grid.cells[axis] * growth[axis]); };
  const Vector3 h = spacing(config);
  drop_value(deck, "grid", "lengths");
  put_value(deck, "grid.cells", triple(cells, place), problems);
  put_value(deck, "grid.spacing", triple([&](int axis) { return shortest(h[axis]); }, place), problems);
  return true;
}

}  // namespace isotherm
