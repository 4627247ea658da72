#include "solver/level.hpp"

#include <algorithm>
#include <functional>

#include "core/agree.hpp"
#include "core/trace.hpp"
#include "kernels/face_copy.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"
#include "solver/host_copy.hpp"

namespace isotherm {
namespace {

// Touched first by the threads that will sweep it, before anything else writes to it.
template <class T>
Field<T> make_field(const Communicator& communicator, Device& device, Int3 extent, int ghosts) {
  return agree(communicator, [&] {
    Field<T> field(device, extent, ghosts);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    face_copy<T>(device.backend()).fill(field.view(), T(0), stream);
    device.synchronize(stream);
    return field;
  });
}

TransportSettings transport_settings(const Config& config, bool timed) {
  const ParallelConfig& parallel = config.parallel;
  return {parallel.transport, config.at("parallel.transport"), parallel.probe_timeout, timed};
}

template <class T>
std::vector<Coefficients<T>> coefficients_of(const Config& config, const Method& method) {
  std::vector<Coefficients<T>> all;
  for (const double weight : method.weights)
    all.push_back(rounded_coefficients<T>(sweep_coefficients(config, weight)));
  return all;
}

}  // namespace

template <class T>
Level<T>::Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                Device& device, bool time_halos)
    : config_(config),
      method_(make_method(config)),
      decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      block_(decomposition.block(communicator.rank())),
      sides_(ghost_sides(decomposition, communicator.rank())),
      current_(make_field<T>(communicator, device, block_.extent(), halo_depth(config))),
      next_(make_field<T>(communicator, device, block_.extent(), halo_depth(config))),
      boundaries_(agree(communicator,
                        [&] {
                          return BoundaryConditions<T>(config, device, block_, halo_depth(config),
                                                       decomposition.boundaries(communicator.rank()));
                        })),
      halo_(decomposition, communicator, device, {halo_field(current_), halo_field(next_)},
            transport_settings(config, time_halos)),
      compute_(own_stream(device, Priority::normal)),
      halo_stream_(own_stream(device, Priority::high)),
      coefficients_(coefficients_of<T>(config, method_)),
      dt_(config.problem.kind == ProblemKind::transient ? time_plan(config).dt : 0) {}

template <class T>
SourceTotals Level<T>::fill_sources() {
  const std::vector<Paint> entries = all_sources(config_);
  if (entries.empty()) return {};
  source_.emplace(make_field<T>(communicator_, device_, extent(), halo_depth(config_)));
  std::optional<HaloExchange<T>> halo;  // launches of several sweeps read the ghosts
  if (halo_depth(config_) > 1) {
    halo.emplace(decomposition_, communicator_, device_, std::vector{halo_field(*source_)},
                 TransportSettings{.name = "host", .timed = false});
  }
  SourceTotals mine;
  agree(communicator_, [&] {
    const Painter painter(config_, entries, "sources");
    PaintTotals totals;
    face_copy<T>(device_.backend()).fill(source_->view(), T(0), compute_);
    fill_from_host<T>(*source_, block_, device_, compute_, [&](Box cells, FieldView<T> view) {
      totals = totals + painter.paint(source_scale(config_), cells, view);
    });
    mine = source_totals(config_, totals);
  });
  if (halo) {
    halo->start(source_->view(), compute_, halo_stream_);
    halo->finish(source_->view(), compute_, halo_stream_);
    synchronize();
  }
  return {communicator_.all_reduce(mine.power, ReduceOp::sum),
          communicator_.all_reduce(mine.cells, ReduceOp::sum)};
}

template <class T>
void Level<T>::add_empty_source() {
  if (!all_sources(config_).empty())
    source_.emplace(make_field<T>(communicator_, device_, extent(), halo_depth(config_)));
}

template <class T>
void Level<T>::initialise() {
  LongAccumulator sum{};
  const auto fill = [&](const std::function<void(FieldView<T>)>& each_slab) {
    agree(communicator_, [&] {
      const Painter painter(config_, config_.initial, "initial");
      fill_from_host<T>(current_, block_, device_, compute_, [&](Box cells, FieldView<T> view) {
        painter.paint(1.0, cells, view);
        each_slab(view);
      });
    });
  };
  if (!mean_is_free(config_)) return fill([](FieldView<T>) {});
  // No boundary holds the temperature: the mean of the initial state is moved to that of the deck. Jacobi
  // sweeps of a balanced problem keep it.
  fill([&](FieldView<T> view) { sum.add(exact_sum<T>(view)); });
  communicator_.all_reduce(sum.word, ReduceOp::sum);  // rounded once: the same bits for any decomposition
  const double mean = sum.rounded() / static_cast<double>(config_.grid.cells.product());
  fill([&](FieldView<T> view) { shift<T>(view, *config_.problem.mean_temperature - mean); });
}

template <class T>
void Level<T>::read(const StoredField& stored) {
  agree(communicator_, [&] {
    fill_from_host<T>(current_, block_, device_, compute_, [&](Box cells, FieldView<T> view) {
      read_field(stored, config_.grid.cells, cells, view);
    });
  });
}

template <class T>
void Level<T>::fill_boundaries(const StencilKernel<T>& kernel, Box region) {
  const TraceRange range(Phase::walls);
  const Boundaries<T> ghosts = boundaries_in_ghosts(kernel, boundaries_.boundaries());
  face_copy<T>(device_.backend()).fill_boundaries(current_.view(), ghosts, region, compute_);
}

template <class T>
SweepArgs<T> Level<T>::sweep_args(Box region, const UpdateNorm& norm) {
  return {std::as_const(current_).view(), next_.view(), region, coefficients(),
          boundaries_.boundaries(),       source(),     norm};
}

template <class T>
void Level<T>::advance(int sweeps) {
  std::swap(current_, next_);
  sweeps_ += sweeps;
  has_before_ = sweeps == 1;
}

template <class T>
void Level<T>::advance_by_graph(std::int64_t sweeps, bool has_before) {
  sweeps_ += sweeps;
  has_before_ = has_before;
}

// The sweeps wait, not the host. The first sweep after the copy began reads its field, the second overwrites
// it.
template <class T>
void Level<T>::wait_for_copy(bool at_once) {
  if (!copying_ || (!at_once && sweeps_ == copying_->sweep)) return;
  device_.wait(compute_, copying_->done);
  copying_.reset();
}

template <class T>
void Level<T>::synchronize() {
  device_.synchronize(halo_stream_);
  device_.synchronize(compute_);
}

template class Level<float>;
template class Level<double>;

}  // namespace isotherm
