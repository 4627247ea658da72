#include "solver/material_multigrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/all_or_throw.hpp"
#include "core/error.hpp"
#include "solver/coarsening.hpp"
#include "solver/diagnosis.hpp"
#include "solver/gathering.hpp"

namespace isotherm {

// Before and after a correction, on the coarse grids: with four, as on the finest, a chip stack takes twice
// as many cycles.
constexpr int coarse_sweeps = 8;

// A coarse grid, and how it lies in the next finer one.
template <class T>
struct MaterialMultigrid<T>::Coarse {
  Coarse(const HalvedGrid& halved, const Communicator& communicator, Level<T>& finest)
      : grid(halved.decomposition, communicator, finest.device(),
             {finest.config().parallel.transport, finest.config().at("parallel.transport"),
              finest.config().parallel.probe_timeout, false},
             finest.compute()),
        mine(grid.whole()) {}

  ConductanceGrid<T> grid;
  Halving halving;
  Box mine;                               // cells that this rank restricts to
  std::optional<Gathering<T>> gathering;  // where this grid is whole, and the finer one is not
};

template <class T>
MaterialMultigrid<T>::MaterialMultigrid(Step<T>& finest) : finest_(finest), self_(Communicator::self()) {
  // No conductances have an eigenvalue above 2 (Gershgorin).
  for (const double weight : smoothing_weights(2, coarse_sweeps)) weights_.push_back(static_cast<T>(weight));
  check_blocks();
  for (std::size_t i = 0; decomposition(i).cells().product() > 1; ++i) add_grid(i, axis_below(i));
  records_ = can_be_recorded();
  // Loads the kernels too, which the first cycle would pay for.
  if (records_) finest.level().record(v_cycle_, [&] { v_cycle(0); });
}

template <class T>
MaterialMultigrid<T>::~MaterialMultigrid() = default;

// A neighbour's boundary is not known where it is beyond the first of its cells.
template <class T>
void MaterialMultigrid<T>::check_blocks() const {
  const Level<T>& field = finest_.level();
  const Decomposition& cut = field.decomposition();
  for (int axis = 0; axis < 3; ++axis)
    if (cut.process_grid()[axis] > 1 && cut.cells()[axis] / cut.process_grid()[axis] < 2)
      throw CollectiveError(
          ExitCode::deck, fmt::format("{}: multigrid of several materials needs two layers of cells for each "
                                      "rank, and axis {} has {} cells for {} ranks; use fewer ranks, or "
                                      "method chebyshev",
                                      field.config().at("problem.method"), "xyz"[axis], cut.cells()[axis],
                                      cut.process_grid()[axis]));
}

template <class T>
ConductanceGrid<T>& MaterialMultigrid<T>::grid(std::size_t i) {
  return coarse_[i - 1]->grid;
}

template <class T>
FineConductances<T> MaterialMultigrid<T>::conductances(std::size_t i) {
  if (i > 0) return {grid(i).faces(), {}};
  const Level<T>& field = finest_.level();
  return {{}, {field.materials(), field.boundaries().boundaries(), field.extent()}};
}

template <class T>
template <class Work>
void MaterialMultigrid<T>::timed(std::size_t i, Phase phase, const Work& work) {
  i == 0 ? finest_.timed(phase, work) : grid(i).timed(phase, work);
}

// The axis along which the next coarser grid than the i-th has half the cells.
template <class T>
int MaterialMultigrid<T>::axis_below(std::size_t i) {
  Level<T>& field = finest_.level();
  const Communicator& ranks = i == 0 ? field.communicator() : grid(i).communicator();
  const Int3 cells = decomposition(i).cells(), lo = subdomain(i).lo;
  FieldSum<T> sum(ranks, field.device(), block(i).extent(), field.compute());
  Vector3 coupling{};
  for (int axis = 0; axis < 3; ++axis) {
    if (cells[axis] == 1) continue;
    const bool wraps = decomposition(i).periodic()[axis];
    Box inner = block(i);
    if (!wraps && lo[axis] == 0) ++inner.lo[axis];
    face_copy<T>(field.device().backend()).fill(other(i).view(), T(0), field.compute());
    semicoarsening<T>(field.device().backend())
        .find_faces(conductances(i), axis, other(i).view(), inner, field.compute());
    const auto count = static_cast<double>(cells[axis]);
    const double neighbours = wraps ? count : count - 1;
    coupling[axis] = sum.mean(std::as_const(other(i)).view(), cells) * count / neighbours;
  }
  return strongest_axis(cells, coupling);
}

template <class T>
void MaterialMultigrid<T>::add_grid(std::size_t fine, int axis) {
  Level<T>& field = finest_.level();
  const Communicator& ranks = field.communicator();
  const Decomposition finer = decomposition(fine);
  const HalvedGrid next = halved(finer, finer.ranks() == 1, axis);
  const bool alone = next.whole && ranks.size() > 1;
  const auto make = [&] { return std::make_unique<Coarse>(next, alone ? self_ : ranks, field); };
  coarse_.push_back(alone ? all_or_throw(ranks, make) : make());
  Coarse& coarse = *coarse_.back();
  const std::array<bool, 3> wraps = finer.periodic();
  coarse.halving = {
      axis, finer.cells(), {wraps[0], wraps[1], wraps[2]}, subdomain(fine).lo, coarse.grid.subdomain().lo};
  if (alone && finer.ranks() > 1) {
    const Decomposition parts_of = finer.halved(axis);
    std::vector<Box> parts;
    for (int rank = 0; rank < finer.ranks(); ++rank) parts.push_back(parts_of.subdomain(rank));
    coarse.mine = parts[ranks.rank()];
    all_or_throw(ranks,
                 [&] { coarse.gathering.emplace(ranks, field.device(), coarse.grid.source(), parts); });
    coarse.gathering->connect(fine == 0 ? field.halo() : grid(fine).halo());
  }
  for (int along = 0; along < 3; ++along) {
    const bool to_itself = wraps[along] && next.decomposition.cells()[along] == 1;
    if (!to_itself) find_faces(fine, along);
  }
}

// Of the next coarser grid than that one.
template <class T>
void MaterialMultigrid<T>::find_faces(std::size_t fine, int along) {
  Coarse& coarse = *coarse_[fine];
  Level<T>& field = finest_.level();
  const auto find = [&](bool above, Box cells) {
    semicoarsening<T>(field.device().backend())
        .coarsen(conductances(fine), coarse.halving, along, above, coarse.grid.source().view(), cells,
                 field.compute());
    if (coarse.gathering) coarse.gathering->gather(field.compute());
    above ? coarse.grid.take_upper_faces(along) : coarse.grid.take_lower_faces(along);
  };
  find(false, coarse.mine);
  if (coarse.halving.wraps[along]) return;
  Box last = coarse.mine;
  const Index end = coarse.grid.decomposition().cells()[along] - coarse.grid.subdomain().lo[along];
  last.lo[along] = std::max(last.lo[along], end - 1);
  find(true, last);
}

template <class T>
void MaterialMultigrid<T>::exchange_other(std::size_t i) {
  if (i > 0) return grid(i).exchange(grid(i).other());
  Level<T>& field = finest_.level();
  if (exchanges(field.sides())) finest_.timed(Phase::halo, [&] { field.exchange(field.other()); });
}

// Into the other field.
template <class T>
void MaterialMultigrid<T>::find_residual(std::size_t i) {
  Level<T>& field = finest_.level();
  if (i == 0) {
    finest_.refresh_ghosts();
    field.fill_boundaries(field.whole());
  } else {
    grid(i).exchange(grid(i).current());
  }
  const FieldView<const T> current = i == 0 ? field.field() : std::as_const(grid(i).current()).view(),
                           source = i == 0 ? field.source() : std::as_const(grid(i).source()).view();
  timed(i, Phase::sweep, [&] {
    semicoarsening<T>(field.device().backend())
        .find_residual(conductances(i), coarse_[i]->halving, current, source, other(i).view(), block(i),
                       field.compute());
  });
}

template <class T>
void MaterialMultigrid<T>::restrict_to(std::size_t i) {
  Coarse& coarse = *coarse_[i - 1];
  Level<T>& field = finest_.level();
  find_residual(i - 1);
  exchange_other(i - 1);
  timed(i - 1, Phase::sweep, [&] {
    semicoarsening<T>(field.device().backend())
        .restrict_residual(conductances(i - 1), coarse.halving, std::as_const(other(i - 1)).view(),
                           coarse.grid.source().view(), coarse.mine, field.compute());
  });
  if (coarse.gathering) timed(i - 1, Phase::halo, [&] { coarse.gathering->gather(field.compute()); });
}

template <class T>
void MaterialMultigrid<T>::prolong_from(std::size_t i) {
  Coarse& coarse = *coarse_[i - 1];
  Level<T>& field = finest_.level();
  coarse.grid.exchange(coarse.grid.current());
  Field<T>& to = i == 1 ? field.current() : grid(i - 1).current();
  timed(i - 1, Phase::sweep, [&] {
    semicoarsening<T>(field.device().backend())
        .prolong_add(conductances(i - 1), coarse.halving, std::as_const(coarse.grid.current()).view(),
                     to.view(), block(i - 1), field.compute());
  });
  if (i == 1) finest_.forget_ghosts();
}

template <class T>
void MaterialMultigrid<T>::v_cycle(std::size_t i) {
  const auto smooth = [&](bool from_zero) {
    i == 0 ? finest_.advance(finest_.level().method().cycle() / 2) : grid(i).sweep(weights_, from_zero);
  };
  // A single cell is solved by one sweep; two end in the field in which they began.
  if (i > 0 && i == coarse_.size()) return grid(i).sweep({T(1), T(1)}, true);
  smooth(true);
  if (i < coarse_.size()) {
    restrict_to(i + 1);
    v_cycle(i + 1);
    prolong_from(i + 1);
  }
  smooth(false);
}

// As Multigrid's.
template <class T>
bool MaterialMultigrid<T>::can_be_recorded() {
  const Level<T>& field = finest_.level();
  const Config& config = field.config();
  if (coarse_.empty() || config.solver.cuda_graph == GraphChoice::off || finest_.times_phases()) return false;
  if (!why_no_graph(config, field.device()).empty() || !field.halo().why_not_recordable().empty())
    return false;
  return std::ranges::all_of(coarse_, [](const auto& coarse) {
    return coarse->grid.halo().why_not_recordable().empty() &&
           !(coarse->gathering && coarse->gathering->needs_host());
  });
}

template <class T>
void MaterialMultigrid<T>::take(bool) {
  if (!records_ || finest_.times_phases()) return v_cycle(0);
  run_recorded<T>(finest_, v_cycle_, [&] { v_cycle(0); });
}

template <class T>
std::vector<TimedGrid> MaterialMultigrid<T>::timed() {
  std::vector<TimedGrid> all;
  for (const auto& each : coarse_) all.push_back({each->grid.decomposition().cells(), &each->grid.times});
  return all;
}

template <class T>
void MaterialMultigrid<T>::time_phases() {
  for (const auto& each : coarse_) each->grid.time_phases();
}

std::size_t material_coarse_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                  Backend backend) {
  const std::size_t size = element_bytes(config);
  std::size_t bytes = 0;
  bool finer_is_whole = decomposition.ranks() == 1;
  for (const HalvedGrid& grid : likely_halved_grids(config, decomposition)) {
    const Box block = grid.decomposition.subdomain(grid.whole ? 0 : rank);
    bytes += conductance_grid_bytes(block.extent(), size, backend);
    if (grid.whole && !finer_is_whole) bytes += size * static_cast<std::size_t>(block.cells());
    finer_is_whole = grid.whole;
  }
  return bytes;
}

template class MaterialMultigrid<float>;
template class MaterialMultigrid<double>;

}  // namespace isotherm
