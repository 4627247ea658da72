#include "solver/material_multigrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/all_or_throw.hpp"
#include "core/error.hpp"
#include "solver/coarsening.hpp"
#include "solver/diagnosis.hpp"
#include "solver/gathering.hpp"

namespace isotherm {

// Before and after a correction, from the finest grid on; the last of all coarser ones.
constexpr std::array sweeps_of_grid{3, 8};

// A grid, and how it lies in the next finer one.
struct MaterialMultigrid::Grid {
  Grid(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
       Device& device, bool has_ground, Stream compute)
      : grid(decomposition, communicator, device,
             {config.parallel.transport, config.at("parallel.transport"), config.parallel.probe_timeout,
              false},
             has_ground, compute),
        mine(grid.whole()) {}

  ConductanceGrid grid;
  Halving halving{.axis = -1};
  Box mine;                                   // cells that this rank restricts to
  std::optional<Gathering<float>> gathering;  // where this grid is whole, and the finer one is not
};

MaterialMultigrid::MaterialMultigrid(const Config& config, const Decomposition& decomposition,
                                     const Communicator& communicator, Device& device, bool has_ground,
                                     Stream compute, OfBody of_body)
    : config_(config),
      decomposition_(decomposition),
      communicator_(communicator),
      self_(Communicator::self()),
      device_(device),
      has_ground_(has_ground),
      compute_(compute),
      of_body_(std::move(of_body)),
      kernels_(semicoarsening<float>(device.backend())) {
  // No conductances have an eigenvalue above 2 (Gershgorin).
  for (const int sweeps : sweeps_of_grid) {
    const std::vector<double> weights = smoothing_weights(2, sweeps);
    weights_.emplace_back(weights.begin(), weights.end());
  }
  check_blocks();
  add_finest();
  for (std::size_t i = 0; grid(i).decomposition().cells().product() > 1; ++i) add_grid(i, axis_below(i));
  if (!can_be_recorded()) return;
  // Loads the kernels too, which the first cycle would pay for.
  device_.begin_recording(compute_);
  cycle(0);
  graph_.emplace(device_, device_.end_recording(compute_));
}

MaterialMultigrid::~MaterialMultigrid() = default;

// A neighbour's boundary is not known where it is beyond the first of its cells.
void MaterialMultigrid::check_blocks() const {
  for (int axis = 0; axis < 3; ++axis) {
    const Index cells = decomposition_.cells()[axis], ranks = decomposition_.process_grid()[axis];
    if (ranks > 1 && cells / ranks < 2)
      throw CollectiveError(
          ExitCode::deck, fmt::format("{}: multigrid of several materials needs two layers of cells for each "
                                      "rank, and axis {} has {} cells for {} ranks; use fewer ranks, or "
                                      "method {}",
                                      config_.at("problem.method"), "xyz"[axis], cells, ranks,
                                      is_implicit(config_) ? "rkl" : "chebyshev"));
  }
}

ConductanceGrid& MaterialMultigrid::grid(std::size_t i) {
  return grids_[i]->grid;
}

// The axis along which the next coarser grid than the i-th has half the cells.
int MaterialMultigrid::axis_below(std::size_t i) {
  ConductanceGrid& fine = grid(i);
  const Int3 cells = fine.decomposition().cells(), lo = fine.subdomain().lo;
  FieldSum<float> sum(fine.communicator(), device_, fine.whole().extent(), compute_);
  Vector3 coupling{};
  for (int axis = 0; axis < 3; ++axis) {
    if (cells[axis] == 1) continue;
    const bool wraps = fine.decomposition().periodic()[axis];
    Box inner = fine.whole();
    if (!wraps && lo[axis] == 0) ++inner.lo[axis];
    const auto count = static_cast<double>(cells[axis]);
    const double faces = static_cast<double>(cells.product()) / count * (wraps ? count : count - 1);
    coupling[axis] = sum.of(fine.faces().faces[axis], inner).rounded() / faces;
  }
  return strongest_axis(cells, coupling);
}

void MaterialMultigrid::add_finest() {
  grids_.push_back(
      std::make_unique<Grid>(config_, decomposition_, communicator_, device_, has_ground_, compute_));
  for (int along = 0; along < 3 + has_ground_; ++along) find_conductances(0, along);
}

void MaterialMultigrid::add_grid(std::size_t fine, int axis) {
  const Communicator& ranks = communicator_;
  const Decomposition finer = grid(fine).decomposition();
  const HalvedGrid next = halved(finer, finer.ranks() == 1, axis);
  const bool alone = next.whole && ranks.size() > 1;
  const auto make = [&] {
    return std::make_unique<Grid>(config_, next.decomposition, alone ? self_ : ranks, device_, has_ground_,
                                  compute_);
  };
  grids_.push_back(alone ? all_or_throw(ranks, make) : make());
  Grid& coarse = *grids_.back();
  const std::array<bool, 3> wraps = finer.periodic();
  coarse.halving = {axis,
                    finer.cells(),
                    {wraps[0], wraps[1], wraps[2]},
                    grid(fine).subdomain().lo,
                    coarse.grid.subdomain().lo};
  if (alone && finer.ranks() > 1) {
    const Decomposition parts_of = finer.halved(axis);
    std::vector<Box> parts;
    for (int rank = 0; rank < finer.ranks(); ++rank) parts.push_back(parts_of.subdomain(rank));
    coarse.mine = parts[ranks.rank()];
    all_or_throw(ranks, [&] { coarse.gathering.emplace(ranks, device_, coarse.grid.source(), parts); });
    coarse.gathering->connect(grid(fine).halo());
  }
  for (int along = 0; along < 3 + has_ground_; ++along) {
    const bool to_itself = along < 3 && wraps[along] && next.decomposition.cells()[along] == 1;
    if (!to_itself) find_conductances(fine + 1, along);
  }
}

// Of that grid, from the body or from the next finer one.
void MaterialMultigrid::find_conductances(std::size_t i, int along) {
  Grid& to = *grids_[i];
  const auto find = [&](bool above, Box cells) {
    if (i == 0)
      of_body_(along, above, to.grid.source().view(), cells);
    else
      kernels_.coarsen(grid(i - 1).faces(), to.halving, along, above, to.grid.source().view(), cells,
                       compute_);
    if (to.gathering) to.gathering->gather(compute_);
    above ? to.grid.take_upper_faces(along) : to.grid.take_lower_faces(along);
  };
  find(false, to.mine);
  if (along == ground_of_cells || to.grid.decomposition().periodic()[along]) return;
  Box last = to.mine;
  const Index end = to.grid.decomposition().cells()[along] - to.grid.subdomain().lo[along];
  last.lo[along] = std::max(last.lo[along], end - 1);
  find(true, last);
}

void MaterialMultigrid::take_ground() {
  for (std::size_t i = 0; i < grids_.size(); ++i) find_conductances(i, ground_of_cells);
}

void MaterialMultigrid::take_faces() {
  for (int axis = 0; axis < 3; ++axis)
    if (coefficients_use_time(config_, axis))
      for (std::size_t i = 0; i < grids_.size(); ++i) find_conductances(i, axis);
}

void MaterialMultigrid::restrict_to(std::size_t i) {
  ConductanceGrid& fine = grid(i - 1);
  Grid& coarse = *grids_[i];
  fine.exchange(fine.current());
  fine.timed(Phase::sweep, [&] {
    kernels_.find_residual(fine.faces(), coarse.halving, std::as_const(fine.current()).view(),
                           std::as_const(fine.source()).view(), fine.other().view(), fine.whole(), compute_);
  });
  fine.exchange(fine.other());
  fine.timed(Phase::sweep, [&] {
    kernels_.restrict_residual(fine.faces(), coarse.halving, std::as_const(fine.other()).view(),
                               coarse.grid.source().view(), coarse.mine, compute_);
  });
  if (coarse.gathering) fine.timed(Phase::halo, [&] { coarse.gathering->gather(compute_); });
}

void MaterialMultigrid::prolong_from(std::size_t i) {
  ConductanceGrid& fine = grid(i - 1);
  Grid& coarse = *grids_[i];
  coarse.grid.exchange(coarse.grid.current());
  fine.timed(Phase::sweep, [&] {
    kernels_.prolong_add(fine.faces(), coarse.halving, std::as_const(coarse.grid.current()).view(),
                         fine.current().view(), fine.whole(), compute_);
  });
}

void MaterialMultigrid::cycle(std::size_t i) {
  // A single cell is solved by one sweep; two end in the field in which they began.
  if (i + 1 == grids_.size()) return grid(i).sweep({1, 1}, true);
  const std::vector<float>& weights = weights_[std::min(i, weights_.size() - 1)];
  grid(i).sweep(weights, true);
  restrict_to(i + 1);
  cycle(i + 1);
  prolong_from(i + 1);
  grid(i).sweep(weights, false);
}

// As Multigrid's.
bool MaterialMultigrid::can_be_recorded() {
  if (config_.solver.cuda_graph == GraphChoice::off || !why_no_graph(config_, device_).empty()) return false;
  return std::ranges::all_of(grids_, [](const auto& each) {
    return each->grid.is_recordable() && !(each->gathering && each->gathering->needs_host());
  });
}

void MaterialMultigrid::v_cycle() {
  if (!graph_ || times_phases_) return cycle(0);
  finest().timed(Phase::sweep, [&] { device_.launch(*graph_, compute_); });
}

std::vector<TimedGrid> MaterialMultigrid::timed() {
  std::vector<TimedGrid> all;
  for (const auto& each : grids_) all.push_back({each->grid.decomposition().cells(), &each->grid.times});
  return all;
}

void MaterialMultigrid::time_phases() {
  times_phases_ = true;
  for (const auto& each : grids_) each->grid.time_phases();
}

bool has_ground(const Config& config) {
  return is_implicit(config) || has_void(material_classes(config));
}

std::size_t material_grid_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                Backend backend) {
  const bool ground = has_ground(config);
  std::size_t bytes = conductance_grid_bytes(decomposition, rank, ground, backend);
  bool finer_is_whole = decomposition.ranks() == 1;
  for (const HalvedGrid& grid : likely_halved_grids(config, decomposition)) {
    bytes += conductance_grid_bytes(grid.decomposition, grid.whole ? 0 : rank, ground, backend);
    if (grid.whole && !finer_is_whole)
      bytes += sizeof(float) * static_cast<std::size_t>(grid.decomposition.cells().product());
    finer_is_whole = grid.whole;
  }
  return bytes;
}

}  // namespace isotherm
