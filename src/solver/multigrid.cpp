#include "solver/multigrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/all_or_throw.hpp"
#include "core/error.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/grid_transfer.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"
#include "solver/coarsening.hpp"

namespace isotherm {
namespace {

template <class Entry>
Buffer on_device(Device& device, const std::vector<Entry>& table) {
  const std::size_t bytes = table.size() * sizeof(Entry);
  Buffer buffer(device, bytes);
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  device.copy(buffer.data(), table.data(), bytes, stream);
  device.synchronize(stream);
  return buffer;
}

// The exact sum of a field and its rounded value, as the reduction leaves them.
struct FieldSum {
  double rounded;
  LongAccumulator unrounded;
};

}  // namespace

template <class T>
SweepChoice<T> smoothing_kernel(const Config& config, const Decomposition& decomposition, Backend backend) {
  SweepChoice<T> choice =
      kernel_choices<T>(config, backend, decomposition.subdomain(0).extent()).sweeps.front();
  choice.time_block = std::min(choice.time_block, longest_time_block(config, decomposition));
  return choice;
}

template <class T>
FieldMean<T>::FieldMean(Level<T>& level)
    : level_(level),
      sum_(level.device(), sizeof(FieldSum)),
      on_host_(level.device(), sizeof(FieldSum), Memory::staging),
      scratch_(level.device(), exact_reduction<T>(level.device().backend()).scratch_bytes(level.whole())) {}

template <class T>
double FieldMean<T>::find() {
  Device& device = level_.device();
  const Stream stream = level_.compute();
  auto* const result = sum_.template as<FieldSum>();
  exact_reduction<T>(device.backend())
      .launch({level_.field(),
               {},
               level_.whole(),
               ReductionOp::sum,
               &result->rounded,
               scratch_.data(),
               &result->unrounded},
              stream);
  device.copy(on_host_.data(), sum_.data(), sizeof(FieldSum), stream);
  device.synchronize(stream);
  LongAccumulator sum = on_host_.template as<FieldSum>()->unrounded;
  level_.communicator().all_reduce(std::span<std::int64_t>(sum.word), ReduceOp::sum);
  return sum.rounded() / static_cast<double>(level_.config().grid.cells.product());
}

// From the next finer level to this one and back: tables of this rank's cells, in the device's memory.
template <class T>
struct Multigrid<T>::Transfer {
  Transfer(Level<T>& fine, Level<T>& coarse, const CoarseGrid& grid, const Decomposition& finer) {
    const int rank = fine.communicator().rank();
    const Int3 n = fine.config().grid.cells, m = coarse.config().grid.cells;
    const Int3 fine_lo = fine.subdomain().lo, coarse_lo = coarse.subdomain().lo;
    for (int r = 0; r < finer.ranks(); ++r) {
      Box box = restricted_by(r, n, finer, grid);
      parts.push_back(box.shifted(Int3{0, 0, 0} - coarse_lo));
    }
    restricted = parts[finer.ranks() == 1 ? 0 : static_cast<std::size_t>(rank)];
    weigh(fine.config(), coarse.config());
    nested = n == m + m;
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<CellOverlap<T>> overlaps;
      for (Index cell = 0; cell < coarse.extent()[axis]; ++cell) {
        const AxisOverlap global = overlap_of(cell + coarse_lo[axis], n[axis], m[axis]);
        CellOverlap<T> local{static_cast<int>(global.first - fine_lo[axis]), global.count};
        for (int i = 0; i < 3; ++i) local.share[i] = static_cast<T>(global.share[i]);
        overlaps.push_back(local);
      }
      read.lo[axis] = restricted.empty() ? 0 : overlaps[static_cast<std::size_t>(restricted.lo[axis])].first;
      const CellOverlap<T> last =
          restricted.empty() ? CellOverlap<T>{} : overlaps[static_cast<std::size_t>(restricted.hi[axis] - 1)];
      read.hi[axis] = last.first + last.count;
      std::vector<Interpolation<T>> interpolations;
      for (Index cell = 0; cell < fine.extent()[axis]; ++cell)
        interpolations.push_back(between(coarse.config(), axis, cell + fine_lo[axis], n[axis]));
      for (Interpolation<T>& each : interpolations) {
        each.lower -= static_cast<int>(coarse_lo[axis]);
        each.upper -= static_cast<int>(coarse_lo[axis]);
      }
      const auto at = static_cast<std::size_t>(axis);
      nested = nested && (axis > 0 || read.lo.x % 2 == 0);
      overlaps_[at] = on_device(fine.device(), overlaps);
      interpolations_[at] = on_device(fine.device(), interpolations);
    }
  }

  // Of the update of a unit sweep: inversely as the diagonals.
  void weigh(const Config& fine, const Config& coarse) {
    scale = static_cast<T>(half_diagonal(fine) / half_diagonal(coarse));
  }

  // By global index. What stands beyond a boundary of the coarse grid is a T, as its boundary holds 0.
  static Interpolation<T> between(const Config& coarse, int axis, Index cell, Index fine) {
    const Index cells = coarse.grid.cells[axis];
    const AxisInterpolation at = interpolation_of(cell, fine, cells);
    const auto lower = static_cast<int>(at.lower);
    double lower_weight = 1 - at.upper_weight, upper_weight = at.upper_weight;
    const bool below = at.lower < 0, above = at.lower + 1 == cells && upper_weight > 0;
    const Face nearest = face(axis, above);
    const bool periodic = coarse.boundaries[static_cast<std::size_t>(nearest)].kind == BoundaryKind::periodic;
    if (upper_weight == 0) return {lower, lower, static_cast<T>(lower_weight), T(0)};
    if (periodic || !(below || above))
      return {lower, lower + 1, static_cast<T>(lower_weight), static_cast<T>(upper_weight)};
    const double a = boundary_law(coarse, nearest).a;
    const int there = below ? 0 : lower;
    return {there, there,
            static_cast<T>(below ? upper_weight + a * lower_weight : lower_weight + a * upper_weight), T(0)};
  }

  const CellOverlap<T>* overlaps(int axis) const {
    return overlaps_[static_cast<std::size_t>(axis)].template as<CellOverlap<T>>();
  }
  const Interpolation<T>* interpolations(int axis) const {
    return interpolations_[static_cast<std::size_t>(axis)].template as<Interpolation<T>>();
  }

  std::vector<Box> parts;  // of the coarse level, that each rank restricts to
  Box restricted;          // this rank's
  Box read;                // of the finer level
  T scale;
  bool nested;  // Restriction::nested

 private:
  std::array<Buffer, 3> overlaps_, interpolations_;
};

template <class T>
struct Multigrid<T>::Coarse {
  Coarse(const CoarseGrid& grid, bool coarsest, const Communicator& communicator, Level<T>& finer,
         Stream compute)
      : level(grid.config, grid.decomposition, communicator, finer.device(),
              coarsest ? coarsest_method(grid.config) : make_method(grid.config), compute),
        step(level, smoothing_kernel<T>(grid.config, grid.decomposition, finer.device().backend()), times),
        transfer(finer, level, grid, finer.decomposition()),
        gathered(grid.whole && finer.communicator().size() > 1) {
    if (!gathered) return;
    const auto bytes = static_cast<std::size_t>(grid.config.grid.cells.product()) * sizeof(T);
    cells = Buffer(finer.device(), bytes);
    cells_on_host = Buffer(finer.device(), bytes, Memory::staging);
  }

  Level<T> level;
  SolverTimes times;
  Step<T> step;
  Transfer transfer;
  bool gathered;                // this level is whole, the finer one is not
  Buffer cells, cells_on_host;  // then: of all ranks, dense, on their way
};

template <class T>
Multigrid<T>::Multigrid(Level<T>& finest, Step<T>& step, SolverTimes& times)
    : finest_(finest), step_(step), times_(times), self_(Communicator::self()) {
  const std::vector<CoarseGrid> grids = coarse_grids(finest.config(), finest.decomposition());
  if (!grids.empty()) widen_halo(grids.front());
  for (const CoarseGrid& grid : grids) {
    Level<T>& finer = level(coarse_.size());
    const bool whole = grid.whole && finest.communicator().size() > 1;
    const auto make = [&] {
      return std::make_unique<Coarse>(grid, &grid == &grids.back(), whole ? self_ : finest.communicator(),
                                      finer, finest.compute());
    };
    coarse_.push_back(whole ? all_or_throw(finest.communicator(), make) : make());
  }
  if (mean_is_free(finest.config())) {
    mean_.emplace(finest);
    wanted_mean_ = *finest.config().problem.mean_temperature;
  }
  start_.work = [this] { start(); };
  v_cycle_.work = [this] { v_cycle(0); };
  records_ = can_be_recorded();
  if (!records_) return;
  // Loads the kernels too, which the first cycle would pay for.
  record(start_);
  record(v_cycle_);
}

// As many layers as restriction to the next grid reads.
template <class T>
void Multigrid<T>::widen_halo(const CoarseGrid& next) {
  const Index needed = transfer_reach(finest_.decomposition(), next).fine;
  StepPlan<T> plan = step_.plan();
  if (!exchanges(finest_.sides()) || plan.halo_width >= needed) return;
  if (needed > ghost_layers(finest_.config()))
    throw CollectiveError(
        ExitCode::deck,
        fmt::format("{}: multigrid needs a halo of {} layers between these blocks, and "
                    "fields have {} (it may be set, and is few for overlap in_kernel, "
                    "thin blocks and periodic axes, or little memory); use auto and "
                    "fewer ranks, or problem.method {}",
                    finest_.config().at("solver.halo_width"), needed, ghost_layers(finest_.config()),
                    finest_.config().problem.implicit_dt ? "rkl" : "chebyshev"));
  plan.halo_width = static_cast<int>(needed);
  step_.use(plan);
}

template <class T>
Multigrid<T>::~Multigrid() = default;

template <class T>
Level<T>& Multigrid<T>::level(std::size_t i) {
  return i == 0 ? finest_ : coarse_[i - 1]->level;
}
template <class T>
Step<T>& Multigrid<T>::step(std::size_t i) {
  return i == 0 ? step_ : coarse_[i - 1]->step;
}

template <class T>
SolverTimes& Multigrid<T>::times(std::size_t i) {
  return i == 0 ? times_ : coarse_[i - 1]->times;
}

template <class T>
void Multigrid<T>::time_phases() {
  for (const auto& each : coarse_) each->step.time_phases();
}

template <class T>
std::vector<TimedGrid> Multigrid<T>::timed() {
  std::vector<TimedGrid> all;
  for (const auto& each : coarse_) all.push_back({each->level.config().grid.cells, &each->times});
  return all;
}

// The parts of all ranks make the source of a level that each of them has.
template <class T>
void Multigrid<T>::gather_source(Coarse& coarse) {
  Device& device = finest_.device();
  const Stream stream = finest_.compute();
  const FieldView<T> source = coarse.level.source_field().view();
  const FaceCopy<T>& copy = face_copy<T>(device.backend());
  const Box mine = coarse.transfer.restricted;
  const std::size_t bytes = static_cast<std::size_t>(mine.cells()) * sizeof(T);
  char* const host = coarse.cells_on_host.template as<char>();
  if (bytes > 0) {
    copy.pack(source, mine, coarse.cells.template as<T>(), stream);
    device.copy(host, coarse.cells.data(), bytes, stream);
  }
  device.synchronize(stream);
  std::size_t at = 0;
  for (const std::string& part : finest_.communicator().all_gather({host, bytes})) {
    std::memcpy(host + at, part.data(), part.size());
    at += part.size();
  }
  device.copy(coarse.cells.data(), host, at, stream);
  const T* from = coarse.cells.template as<T>();
  for (const Box& part : coarse.transfer.parts) {
    if (part.empty()) continue;
    copy.unpack(from, source, part, stream);
    from += part.cells();
  }
}

template <class T>
void Multigrid<T>::restrict_to(std::size_t i) {
  Coarse& coarse = *coarse_[i - 1];
  Level<T>& fine = level(i - 1);
  const Transfer& transfer = coarse.transfer;
  step(i - 1).refresh_ghosts();
  fine.fill_all_boundaries(transfer.read);
  Timer timer;
  grid_transfer<T>(fine.device().backend())
      .restrict_residual({fine.field(),
                          fine.source(),
                          fine.coefficients(),
                          coarse.level.source_field().view(),
                          transfer.restricted,
                          transfer.scale,
                          {transfer.overlaps(0), transfer.overlaps(1), transfer.overlaps(2)},
                          transfer.nested},
                         fine.compute());
  step(i - 1).settle();
  times(i - 1).sweep += timer.lap();
  if (coarse.gathered) gather_source(coarse);
  if (exchanges(coarse.level.sides())) coarse.level.exchange_source();
  step(i - 1).settle();
  times(i - 1).halo += timer.lap();
  coarse.level.set_zero();
  coarse.step.forget_ghosts();
  step(i - 1).settle();
  times(i - 1).sweep += timer.lap();
}

template <class T>
void Multigrid<T>::prolong_from(std::size_t i, double shift) {
  Coarse& coarse = *coarse_[i - 1];
  Level<T>& fine = level(i - 1);
  const Transfer& transfer = coarse.transfer;
  coarse.step.refresh_ghosts();
  const Timer timer;
  grid_transfer<T>(fine.device().backend())
      .prolong_add({coarse.level.field(),
                    fine.current().view(),
                    fine.whole(),
                    static_cast<T>(shift),
                    {transfer.interpolations(0), transfer.interpolations(1), transfer.interpolations(2)}},
                   fine.compute());
  step(i - 1).forget_ghosts();
  step(i - 1).settle();
  times(i - 1).sweep += timer.seconds();
}

// Where no boundary fixes it: interpolation keeps the mean of an error only where cells nest. What the cycle
// before has left; it converges with the error.
template <class T>
double Multigrid<T>::missing_mean() {
  return mean_ ? wanted_mean_ - mean_->find() : 0;
}

template <class T>
void Multigrid<T>::v_cycle(std::size_t i) {
  const std::int64_t sweeps = level(i).method().cycle();
  if (i == coarse_.size()) return step(i).advance(sweeps);
  step(i).advance(sweeps / 2);
  restrict_to(i + 1);
  v_cycle(i + 1);
  prolong_from(i + 1, i == 0 ? missing_mean() : 0);
  step(i).advance(sweeps / 2);
}

template <class T>
void Multigrid<T>::start() {
  finest_.wait_for_copy(true);  // the field is changed in place; within a cycle, another one
  for (std::size_t i = 1; i <= coarse_.size(); ++i) restrict_to(i);
  for (std::size_t i = coarse_.size(); i > 0; --i) {
    v_cycle(i);
    prolong_from(i, 0);
  }
}

// Most launches of a cycle are shorter than it takes to queue them. No graph where the host takes part: in
// gathering, in the mean, in timed phases, in transports that need it.
template <class T>
bool Multigrid<T>::can_be_recorded() {
  const Config& config = finest_.config();
  if (coarse_.empty()) return false;  // nor is its number of launches even
  if (config.solver.cuda_graph == GraphChoice::off || step_.times_phases() || mean_) return false;
  if (!why_no_graph(config, finest_.device()).empty()) return false;
  for (std::size_t i = 0; i <= coarse_.size(); ++i)
    if (!level(i).halo().why_not_recordable().empty() || (i > 0 && coarse_[i - 1]->gathered)) return false;
  return true;
}

// Work that has an even number of launches on each level, so that it ends in the fields in which it began.
template <class T>
void Multigrid<T>::record(Part& part) {
  Device& device = finest_.device();
  const std::int64_t before = finest_.sweeps();
  part.starts_at = finest_.field().origin;
  device.begin_recording(finest_.compute());
  part.work();
  part.graph.emplace(device, device.end_recording(finest_.compute()));
  part.sweeps = finest_.sweeps() - before;
  finest_.count_from(before);  // nothing was done yet
}

template <class T>
void Multigrid<T>::run(Part& part) {
  if (!records_ || step_.times_phases()) return part.work();
  finest_.wait_for_copy(true);  // its second launch would overwrite the field
  if (part.starts_at != finest_.field().origin) record(part);
  const TraceRange range(Phase::graph);
  const Timer timer;
  finest_.device().launch(part.graph->get(), finest_.compute());
  finest_.advance_by_graph(part.sweeps, false);
  times_.sweep += timer.seconds();
}

template <class T>
void Multigrid<T>::cycle(bool from_the_start) {
  if (from_the_start) run(start_);
  run(v_cycle_);
}

template <class T>
void Multigrid<T>::use_implicit_dt(double dt) {
  for (std::size_t i = 1; i <= coarse_.size(); ++i) {
    level(i).use_implicit_dt(dt, i == coarse_.size());
    coarse_[i - 1]->transfer.weigh(level(i - 1).config(), level(i).config());
  }
  start_.starts_at = v_cycle_.starts_at = nullptr;  // they are no longer what the graphs hold
}

std::size_t coarse_bytes(const Config& config, const Decomposition& decomposition, int rank,
                         Backend backend) {
  const std::size_t size = config.precision == Precision::fp32 ? 4 : 8;
  std::size_t elements = 0;
  for (const CoarseGrid& grid : coarse_grids(config, decomposition)) {
    const Box block = grid.decomposition.subdomain(grid.whole ? 0 : rank);
    const FieldLayout layout =
        FieldLayout::make(block.extent(), ghost_layers(grid.config), size, row_alignment(backend));
    elements += 3 * static_cast<std::size_t>(layout.elements);
    if (grid.whole && decomposition.ranks() > 1) elements += static_cast<std::size_t>(block.cells());
  }
  return elements * size;
}

template class FieldMean<float>;
template class FieldMean<double>;
template class Multigrid<float>;
template class Multigrid<double>;
template SweepChoice<float> smoothing_kernel(const Config&, const Decomposition&, Backend);
template SweepChoice<double> smoothing_kernel(const Config&, const Decomposition&, Backend);

}  // namespace isotherm
