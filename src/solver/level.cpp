#include "solver/level.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "core/all_or_throw.hpp"
#include "core/trace.hpp"
#include "kernels/face_copy.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"

namespace isotherm {
namespace {

// Touched first by the threads that will sweep it, before anything else writes to it.
template <class T>
Field<T> make_field(const Communicator& communicator, Device& device, Int3 extent, int ghosts) {
  return all_or_throw(communicator, [&] {
    Field<T> field(device, extent, ghosts);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    face_copy<T>(device.backend()).fill(field.view(), T(0), stream);
    device.synchronize(stream);
    return field;
  });
}

// Small enough that pinning it costs nothing beside a copy of a large field, large enough for full speed.
constexpr Index slab_bytes = Index{64} << 20;

struct Slab {
  Buffer cells;
  Owned<Event> copied;
};

// Fills a field from the host: in place where it is the host's, else slab by slab through staging memory.
// Calls `make(cells, view)` for slabs of planes across z that together hold the interior of `field`. `cells`:
// the slab's global cells, parts of `subdomain`; `view`: host memory, without ghosts, in which `make` writes
// them. All threads make one slab while the device copies the one before. The field's ghosts must hold 0
// before.
template <class T>
void fill_from_host(Field<T>& field, Box subdomain, Device& device, Stream stream,
                    const std::function<void(Box cells, FieldView<T> view)>& make) {
  const FieldView<T> whole = field.view();
  if (device.backend() == Backend::host) return make(subdomain, whole);
  const Int3 n = whole.extent;
  const Index plane_bytes = whole.pitch_z * static_cast<Index>(sizeof(T));
  const Index planes = std::clamp<Index>(slab_bytes / plane_bytes, 1, n.z);
  const auto bytes = static_cast<std::size_t>(planes * plane_bytes);
  const auto new_slab = [&] { return Slab{{device, bytes, Memory::staging}, own_event(device)}; };
  std::array<Slab, 2> slabs{new_slab(), new_slab()};
  // Between the rows are ghosts and padding, which the copies overwrite with what they hold: 0.
  for (Slab& slab : slabs) std::fill_n(slab.cells.template as<T>(), planes * whole.pitch_z, T(0));

  int turn = 0;
  for (Index z = 0; z < n.z; z += planes, ++turn) {
    Slab& slab = slabs[static_cast<std::size_t>(turn % 2)];
    if (turn >= 2) device.synchronize(slab.copied.get());
    const Index count = std::min(planes, n.z - z);
    const Box cells{{subdomain.lo.x, subdomain.lo.y, subdomain.lo.z + z},
                    {subdomain.hi.x, subdomain.hi.y, subdomain.lo.z + z + count}};
    T* const host = slab.cells.template as<T>();
    make(cells, {host, whole.pitch_y, whole.pitch_z, {n.x, n.y, count}, 0});
    const Index elements = (count - 1) * whole.pitch_z + (n.y - 1) * whole.pitch_y + n.x;
    device.copy(&whole(0, 0, z), host, static_cast<std::size_t>(elements) * sizeof(T), stream);
    device.record(slab.copied.get(), stream);
  }
  device.synchronize(stream);
}

// Of a block: what is packed has memory of its own on the device, which should not count beside the fields.
constexpr Index most_packed = 16;  // a sixteenth

template <class T>
void pack(Backend backend, FieldView<const T> field, const std::vector<Box>& boxes, T* dense, Stream stream) {
  for (const Box& box : boxes) {
    if (box.empty()) continue;
    face_copy<T>(backend).pack(field, box, dense, stream);
    dense += box.cells();
  }
}

TransportSettings transport_settings(const Config& config, bool timed) {
  const ParallelConfig& parallel = config.parallel;
  return {parallel.transport, config.at("parallel.transport"), parallel.probe_timeout, timed};
}

template <class T>
std::vector<Coefficients<T>> coefficients_of(const Config& config, const Method& method) {
  std::vector<Coefficients<T>> all;
  for (const double weight : method.weights) all.push_back(rounded_sweep<T>(config, weight));
  return all;
}

}  // namespace

template <class T>
Level<T>::Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                Device& device, bool time_halos)
    : Level(config, decomposition, communicator, device, Setup{make_method(config), time_halos, false, {}}) {}

template <class T>
Level<T>::Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                Device& device, const Method& method, Stream compute)
    : Level(config, decomposition, communicator, device, Setup{method, false, true, compute}) {}

template <class T>
Level<T>::Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                Device& device, const Setup& setup)
    : config_(config),
      method_(setup.method),
      decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      subdomain_(decomposition.subdomain(communicator.rank())),
      sides_(ghost_sides(decomposition, communicator.rank())),
      current_(make_field<T>(communicator, device, subdomain_.extent(), ghost_layers(config))),
      next_(make_field<T>(communicator, device, subdomain_.extent(), ghost_layers(config))),
      source_(setup.has_source ? std::optional(make_field<T>(communicator, device, subdomain_.extent(),
                                                             ghost_layers(config)))
                               : std::nullopt),
      boundaries_(all_or_throw(communicator,
                               [&] {
                                 return BoundaryConditions<T>(config, device, subdomain_,
                                                              ghost_layers(config),
                                                              decomposition.boundaries(communicator.rank()));
                               })),
      halo_(decomposition, communicator, device,
            source_ ? std::vector{halo_field(current_), halo_field(next_), halo_field(*source_)}
                    : std::vector{halo_field(current_), halo_field(next_)},
            transport_settings(config, setup.time_halos)),
      host_(make_host_device(device.row_alignment())),
      own_stream_(setup.compute ? std::nullopt : std::optional(own_stream(device, Priority::normal))),
      compute_(setup.compute ? *setup.compute : own_stream_->get()),
      halo_stream_(own_stream(device, Priority::high)),
      coefficients_(coefficients_of<T>(config, method_)),
      unit_(rounded_sweep<T>(config, method_.unit)),
      dt_(config.problem.kind == ProblemKind::transient ? time_plan(config).dt : 0) {}

template <class T>
SourceTotals Level<T>::fill_sources() {
  const std::vector<RegionValue> entries = all_sources(config_);
  if (entries.empty()) return {};
  source_.emplace(make_field<T>(communicator_, device_, extent(), ghost_layers(config_)));
  std::optional<HaloExchange<T>> halo;  // launches of several sweeps read the ghosts
  if (ghost_layers(config_) > 1) {
    halo.emplace(decomposition_, communicator_, device_, std::vector{halo_field(*source_)},
                 TransportSettings{.name = "host", .timed = false});
  }
  SourceTotals mine;
  all_or_throw(communicator_, [&] {
    const RegionValues region_values(config_, entries, "sources");
    RegionTotals totals;
    face_copy<T>(device_.backend()).fill(source_->view(), T(0), compute_);
    fill_from_host<T>(*source_, subdomain_, device_, compute_, [&](Box cells, FieldView<T> view) {
      totals = totals + region_values.apply(source_scale(config_), cells, view);
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
    source_.emplace(make_field<T>(communicator_, device_, extent(), ghost_layers(config_)));
}

template <class T>
void Level<T>::initialise() {
  LongAccumulator sum{};
  const auto fill = [&](const std::function<void(FieldView<T>)>& each_slab) {
    all_or_throw(communicator_, [&] {
      const RegionValues region_values(config_, config_.initial, "initial");
      fill_from_host<T>(current_, subdomain_, device_, compute_, [&](Box cells, FieldView<T> view) {
        region_values.apply(1.0, cells, view);
        each_slab(view);
      });
    });
  };
  if (!mean_is_free(config_)) return fill([](FieldView<T>) {});
  // No boundary holds the temperature: the mean of the initial state is moved to that of the deck. Jacobi
  // sweeps of a balanced problem keep it.
  fill([&](FieldView<T> view) { sum.add(exact_sum<T>(view)); });
  communicator_.all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
  // Rounded once: the same bits for any decomposition.
  const double mean = sum.rounded() / static_cast<double>(config_.grid.cells.product());
  fill([&](FieldView<T> view) { shift<T>(view, *config_.problem.mean_temperature - mean); });
}

template <class T>
void Level<T>::read(const StoredField& stored) {
  all_or_throw(communicator_, [&] {
    fill_from_host<T>(current_, subdomain_, device_, compute_, [&](Box cells, FieldView<T> view) {
      read_field(stored, config_.grid.cells, cells, view);
    });
  });
}

template <class T>
double Level<T>::time() const {
  if (part_) return part_->time;
  return static_cast<double>(sweeps_ / method_.cycle()) * dt_;
}

template <class T>
void Level<T>::update_boundaries(std::optional<double> share) {
  if (!boundaries_.vary_in_time() || !between_cycles()) return;
  const double of_cycle = method_.cycle() > 1 && !probes_ ? 0.5 : 0;
  boundaries_.update(time() + share.value_or(of_cycle) * dt(), compute_);
}

template <class T>
void Level<T>::use(const Method& method) {
  method_ = method;
  coefficients_ = coefficients_of<T>(config_, method_);
  unit_ = rounded_sweep<T>(config_, method_.unit);
}

template <class T>
void Level<T>::begin_part(double time, double dt) {
  if (dt != this->dt()) use(method_of_step(config_, dt));
  part_ = {time, dt};
  sweeps_ = 0;
}

template <class T>
void Level<T>::end_parts(std::int64_t sweep) {
  if (dt() != dt_) use(make_method(config_));
  part_.reset();
  sweeps_ = sweep;
}

template <class T>
void Level<T>::use_implicit_dt(double dt, bool coarsest) {
  config_.problem.implicit_dt = dt;
  use(coarsest ? coarsest_method(config_) : make_method(config_));
}

template <class T>
void Level<T>::fill_boundaries(const StencilKernel<T>& kernel, Box region) {
  const TraceRange range(Phase::boundaries);
  const Boundaries<T> ghosts = boundaries_in_ghosts(kernel, boundaries_.boundaries());
  face_copy<T>(device_.backend()).fill_boundaries(current_.view(), ghosts, region, compute_);
}

template <class T>
void Level<T>::fill_all_boundaries(Box region) {
  const TraceRange range(Phase::boundaries);
  face_copy<T>(device_.backend())
      .fill_boundaries(current_.view(), boundaries_.boundaries(), region, compute_);
}

template <class T>
void Level<T>::exchange_source() {
  halo_.start(source_->view(), compute_, halo_stream_);
  halo_.finish(source_->view(), compute_, halo_stream_);
}

template <class T>
void Level<T>::set_zero() {
  face_copy<T>(device_.backend()).fill(current_.view(), T(0), compute_);
}

template <class T>
SweepArgs<T> Level<T>::sweep_args(Box region, const UpdateNorm& norm) {
  SweepArgs<T> args{field(), next_.view(), region, unit_, boundaries_.boundaries(), source(), norm};
  if (probes_) return args;
  auto at = static_cast<std::size_t>(sweeps_ % method_.cycle());
  for (Coefficients<T>& c : args.c.sweep) {
    c = coefficients_[at];
    if (++at == coefficients_.size()) at = 0;
  }
  return args;
}

template <class T>
void Level<T>::sweep(const StencilKernel<T>& kernel, SweepPlan plan, Box region, const UpdateNorm& norm,
                     bool stores_faces) {
  SweepArgs<T> args = sweep_args(region, norm);
  if (stores_faces) args.stores = halo_.stores(current_.view(), next_.view(), compute_);
  kernel.launch(args, plan, compute_);
}

template <class T>
void Level<T>::sweep_exterior(const StencilKernel<T>& kernel, SweepPlan plan, Box region, Box interior,
                              const UpdateNorm& norm) {
  launch_exterior(kernel, sweep_args(region, norm), interior, plan, compute_);
}

template <class T>
void Level<T>::advance(int sweeps) {
  std::swap(current_, next_);
  sweeps_ += sweeps;
  has_before_ = sweeps == 1;
}

template <class T>
void Level<T>::end_probe() {
  probes_ = false;
  std::swap(current_, next_);
  --sweeps_;
  has_before_ = false;
}

template <class T>
void Level<T>::advance_by_graph(std::int64_t sweeps, bool has_before) {
  sweeps_ += sweeps;
  has_before_ = has_before;
}

template <class T>
FieldView<const T> Level<T>::host_field() {
  if (on_host()) return field();
  if (!mirror_) mirror_.emplace(*host_, extent(), field().ghosts);
  if (mirrored_ != sweeps_) {
    device_.copy(mirror_->data(), current_.data(), current_.bytes(), compute_);
    device_.synchronize(compute_);
    mirrored_ = sweeps_;
  }
  return std::as_const(*mirror_).view();
}

template <class T>
std::vector<T> Level<T>::host_cells(const std::vector<Box>& boxes) {
  Index count = 0;
  for (const Box& box : boxes) count += box.cells();
  std::vector<T> dense(static_cast<std::size_t>(count));
  const bool whole = on_host() || mirrored_ == sweeps_ || count > subdomain_.cells() / most_packed;
  const std::size_t bytes = whole ? 0 : dense.size() * sizeof(T);
  if (!on_host()) {
    all_or_throw(communicator_, [&] {
      if (packed_.bytes() < bytes) packed_ = Buffer(device_, bytes);
    });
  }
  if (whole) {
    pack<T>(Backend::host, host_field(), boxes, dense.data(), {});
  } else if (bytes > 0) {
    pack<T>(device_.backend(), field(), boxes, packed_.as<T>(), compute_);
    device_.copy(dense.data(), packed_.data(), bytes, compute_);
    device_.synchronize(compute_);
  }
  return dense;
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
