// A grid with its fields, coefficients, boundary conditions and halo exchange: the state of a problem on one
// rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/all_or_throw.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/trace.hpp"
#include "grid/decomposition.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/field_reductions.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "physics/boundaries.hpp"
#include "physics/dataset_reader.hpp"
#include "physics/materials.hpp"
#include "physics/region_values.hpp"
#include "physics/varying_sources.hpp"
#include "solver/jumps.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"
#include "solver/source_boxes.hpp"

namespace isotherm {

// A new field of zeros, first touched by the threads that will sweep it. Collective; errors of one rank are
// thrown on all.
template <class T>
Field<T> zeroed_field(const Communicator& communicator, Device& device, Int3 extent, int ghosts) {
  return all_or_throw(communicator, [&] {
    Field<T> field(device, extent, ghosts);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    FaceCopy<T>::on(device.backend()).fill(field.view(), T(0), stream);
    device.synchronize(stream);
    return field;
  });
}

// The cells of the domain that are not voids.
struct BodyCells {
  std::int64_t count = 0;  // over all ranks
  double volume = 0;       // of these cells, over that of the grid's first cell
  // By class, on the device: MaterialCells::body(), is_body(). Null: 1 for all classes.
  const double *weights = nullptr, *cells = nullptr;
  std::vector<std::pair<double, std::int64_t>> voids{};  // temperature of a void, K, and its cells
};

// Collective.
inline LongAccumulator over_ranks(LongAccumulator mine, const Communicator& communicator) {
  communicator.all_reduce<std::int64_t>(mine.word, ReduceOp::sum);
  return mine;
}

// Copies to the host the value that launch(result) stores in device memory; waits for the stream.
template <class Part, class Launch>
Part from_device(Device& device, const Buffer& result, Stream stream, const Launch& launch) {
  launch(result.as<Part>());
  Part part{};
  device.copy(&part, result.data(), sizeof(Part), stream);
  device.synchronize(stream);
  return part;
}

// Exact sums over cells of this rank: not rounded, so the same bits for any order of cells and ranks. Each
// waits for the stream.
template <class T>
class FieldSum {
 public:
  // For fields of `subdomain` cells on this rank. `device` must outlive it.
  FieldSum(Device& device, Int3 subdomain, Stream stream)
      : device_(device),
        stream_(stream),
        kernel_(exact_reduction<T>(device.backend())),
        result_(device, sizeof(ReductionResult)),
        scratch_(device, kernel_.scratch_bytes({{0, 0, 0}, subdomain})) {}
  LongAccumulator over(Box region, FieldView<const T> field) const {
    const auto launch = [&](ReductionResult* to) {
      kernel_.launch({field, {}, region, ReductionOp::sum, &to->value, scratch_.data(), &to->unrounded},
                     stream_);
    };
    return from_device<ReductionResult>(device_, result_, stream_, launch).unrounded;
  }
  // The sum of each cell times the weight of its class. `weights`: on the device; null: all 1.
  LongAccumulator weighted(FieldView<const T> field, Materials<T> materials, const double* weights) const {
    if (!weights) return over(field.interior(), field);
    materials.heat = weights;
    return from_device<LongAccumulator>(device_, result_, stream_, [&](LongAccumulator* result) {
      FieldReductions<T>::on(device_.backend()).heat_sum({field, materials}, result, stream_);
    });
  }

 private:
  Device& device_;
  Stream stream_;
  const ReductionKernel<T>& kernel_;
  Buffer result_, scratch_;
};

struct LevelOptions {
  bool time_halos = false;
  // For a coarser grid or the grid of a change: the stream of the field's grid, on which the level queues its
  // work. Such a level has a field of sources, which fill_sources() does not fill.
  std::optional<Stream> compute = {};
  bool coarsest = false;  // its method is coarsest_method()
};

// Sweeps that are recorded once as a graph and launched again as a whole.
template <class T>
struct RecordedSweeps {
  std::optional<Owned<Graph>> graph = {};
  const T* starts_at = nullptr;  // the origin of the field that the graph reads first
  std::int64_t count = 0;
};

template <class T>
class Level {
 public:
  // Allocates the fields, with ghost_layers(config) ghost layers, and a field of sources where the deck needs
  // one; tests the halo transports with them. Cells are undefined until initialise() or read(). `device` must
  // outlive the level. Collective; errors of one rank are thrown on all.
  Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
        Device& device, const LevelOptions& options = {});
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  // Collective. Fills the sources of the deck; call it while the halo has all layers. Returns their totals
  // over all ranks, without those of products (product_totals()).
  HeatTotals fill_sources();
  // Collective. Sets the field to the initial state of the deck, or to the state in a file.
  void initialise();
  void read(const StoredField& stored);

  const Config& config() const { return config_; }
  const Method& method() const { return method_; }
  const Decomposition& decomposition() const { return decomposition_; }
  const Communicator& communicator() const { return communicator_; }
  Device& device() const { return device_; }
  bool on_host() const { return device_.backend() == Backend::host; }
  Box subdomain() const { return subdomain_; }  // this rank's cells of the grid
  Int3 extent() const { return subdomain_.extent(); }
  Box whole() const { return {{0, 0, 0}, extent()}; }
  const GhostSides& sides() const { return sides_; }
  Stream compute() const { return compute_; }
  HaloExchange<T>& halo() { return halo_; }
  const HaloExchange<T>& halo() const { return halo_; }
  const BoundaryConditions<T>& boundaries() const { return boundaries_; }
  const Coefficients<T>& coefficients() const { return unit_; }  // of a sweep of the unit weight
  const Coefficients<T>& next_coefficients() const {             // of the next sweep
    return coefficients_[static_cast<std::size_t>(sweeps_ % method_.cycle())];
  }
  // materials(): the tables of a sweep of the unit weight; empty with one material.
  const MaterialCells<T>& material_cells() const { return *materials_; }  // with several materials
  Materials<T> materials() const {
    const std::size_t cycle = method_.weights.size();
    return materials_ ? materials_->of_launch(cycle, cycle) : Materials<T>{};
  }
  std::vector<std::int64_t> cells_of_material() const {  // of this rank
    return materials_ ? materials_->cells_of_material() : std::vector<std::int64_t>();
  }

  // Restores the temperatures of voids after anything other than a sweep has changed the field.
  void hold_voids() {
    if (has_void()) materials_->hold(current_.view(), compute_);
  }
  // Does the domain contain voids? Their cells are NaN in copies on the host.
  bool has_void() const { return materials_ && materials_->has_void(); }
  bool is_void(Index x, Index y, Index z) const { return has_void() && materials_->is_void(x, y, z); }
  const BodyCells& body() const { return body_; }
  // Exact sums and means over all ranks; collective. `weights`: by class, as in BodyCells.
  LongAccumulator sum(FieldView<const T> field, const double* weights) {
    return over_ranks(sums().weighted(field, materials(), weights), communicator_);
  }
  double mean() { return sum(field(), body_.weights).rounded() / body_.volume; }  // K, over the volume
  // The sum of the sources in the last sweep; before the first sweep it lacks the sources in boxes.
  LongAccumulator source_sum() {
    LongAccumulator mine{};
    if (uniform_source_) {
      const auto of_cell = static_cast<double>(*uniform_source_);
      const auto cells = static_cast<double>(extent().product());
      const double product = of_cell * cells;
      mine.add(product);
      mine.add(std::fma(of_cell, cells, -product));  // the rounding error: the sum is exact
    }
    if (source_) mine.add(sums().weighted(source(), materials(), body_.cells));
    if (boxes_ && !times_.empty())
      mine.add(boxes_->sum(times_.front(), source(), extent(), compute_, sums()));
    return over_ranks(mine, communicator_);
  }

  // The current field, the field before the last sweep, and the sources (empty where there are none).
  Field<T>& current() { return current_; }
  FieldView<const T> field() const { return current_.view(); }
  FieldView<const T> before() const { return next_.view(); }
  Field<T>& other() { return next_; }  // the next sweep writes to it
  FieldView<const T> source() const { return source_ ? source_->view() : FieldView<const T>{}; }
  Field<T>& source_field() { return *source_; }
  Field<T> new_field() const {  // of the same shape; collective
    return zeroed_field<T>(communicator_, device_, extent(), ghost_layers(config_));
  }
  bool has_uniform_source() const { return uniform_source_.has_value(); }  // in coefficients()
  bool sources_vary() const { return varying_ && varying_->vary_in_time(); }
  std::int64_t sweeps() const { return sweeps_; }  // since the initial state
  // s. time(): the end of the last cycle or part of one; dt(): the length of the next. 0 in a steady problem.
  double time() const {
    if (part_) return part_->from;
    return static_cast<double>(sweeps_ / method_.cycle()) * dt_;
  }
  double dt() const { return part_ ? part_->dt : dt_; }
  const Jumps& jumps() const { return jumps_; }
  // The next sweep from `sweep` on that is a time step within which a value jumps, or Jumps::never.
  std::int64_t next_divided(std::int64_t sweep) const {
    return part_ || method_.cycle() > 1 ? Jumps::never : jumps_.divided_from(sweep);
  }
  bool between_cycles() const { return sweeps_ % method_.cycle() == 0; }
  // Does before() hold the field one sweep before the current one?
  bool has_before() const { return has_before_; }

  // Everything below is queued on compute() in order; exchanges have a stream of their own, for which
  // compute() waits.

  // Updates values of boundaries and sources that vary in time, for the next `sweeps` sweeps. Where a cycle
  // is one sweep, each sweep takes its values at its start. A longer cycle takes them in its middle, or at
  // `share` of its length, for all its sweeps. A field of sources is the same in all sweeps of a launch. A
  // probe keeps the values.
  void update_values(int sweeps, std::optional<double> share = {});
  // Returns to the values of times_of_values() before steps that are discarded.
  const std::vector<double>& times_of_values() const { return times_; }
  void return_to_values(const std::vector<double>& times) {
    times_ = times;
    use_values();
  }
  // Fills the ghosts beyond the boundaries at which `region` ends, except along axes on which the kernel
  // computes them itself (`own_boundaries`).
  void fill_boundaries(Box region, const std::array<bool, 3>& own_boundaries = {}) {
    const TraceRange range(Phase::boundaries);
    FaceCopy<T>::on(device_.backend())
        .fill_boundaries(current_.view(), boundaries_in_ghosts(own_boundaries, boundaries_.boundaries()),
                         region, compute_);
  }
  void start_exchange() { halo_.start(current_.view(), compute_); }
  void finish_exchange() { halo_.finish(current_.view(), compute_); }
  void exchange(Field<T>& field) {  // `field`: one of this level's
    halo_.start(field.view(), compute_);
    halo_.finish(field.view(), compute_);
  }
  void set_zero() {  // the current field, ghosts included
    FaceCopy<T>::on(device_.backend()).fill(current_.view(), T(0), compute_);
  }
  // Sweeps `region` from the current field into the other one; with `stores_faces` also into the neighbours'
  // ghosts. sweep_exterior() sweeps `region` without `interior`, which is swept before.
  void sweep(const StencilKernel<T>& kernel, SweepPlan plan, Box region, const UpdateNorm& norm,
             bool stores_faces = false) {
    SweepArgs<T> args = sweep_args(region, norm);
    if (stores_faces) args.stores = halo_.of_sweeps().stores(current_.view(), next_.view(), compute_);
    kernel.launch(args, plan, compute_);
  }
  void sweep_exterior(const StencilKernel<T>& kernel, SweepPlan plan, Box region, Box interior,
                      const UpdateNorm& norm) {
    launch_exterior(kernel, sweep_args(region, norm), interior, plan, compute_);
  }
  // After a launch of `region`: sweeps the cells near source boxes again (solver/source_boxes.hpp).
  void sweep_source_boxes(int sweeps, Box region) {
    if (boxes_) boxes_->sweep(sweep_args(region, {}), std::span(times_).first(sweeps), compute_);
  }
  // Makes the other field the current one, after one launch of `sweeps` sweeps.
  void advance(int sweeps) {
    std::swap(current_, next_);
    sweeps_ += sweeps;
    has_before_ = sweeps == 1;
  }
  // A sweep between these two calls has the unit weight. The current field stays as it is; the result is in
  // before().
  void begin_probe() { probes_ = true; }
  void end_probe() {
    probes_ = false;
    std::swap(current_, next_);
    --sweeps_;
    has_before_ = false;
  }
  // Counts sweeps whose result is already in the current field.
  void advance_in_place(std::int64_t sweeps, bool has_before = false) {
    sweeps_ += sweeps;
    has_before_ = has_before;
  }
  std::string why_no_graph() const;  // empty: sweeps with their exchanges can be recorded
  // Records the sweeps that `work` queues, an even number of launches; none is executed yet.
  void record(RecordedSweeps<T>& recorded, const std::function<void()>& work) {
    const std::int64_t before = sweeps_;
    recorded.starts_at = field().origin;
    device_.begin_recording(compute_);
    work();
    recorded.graph.emplace(device_, device_.end_recording(compute_));
    recorded.count = std::exchange(sweeps_, before) - before;
  }
  void launch(const RecordedSweeps<T>& recorded, bool has_before) {
    const TraceRange range(Phase::graph);
    device_.launch(*recorded.graph, compute_);
    advance_in_place(recorded.count, has_before);
  }
  // `copied`: end of the copy of the current field. The sweep that would overwrite it waits for this event.
  void protect_until(Event copied) { copying_ = {copied, sweeps_}; }
  // The stream waits, not the host. The first sweep after the start of the copy reads the copied field, the
  // second overwrites it. `at_once`: the first waits too.
  void wait_for_copy(bool at_once = false) {
    if (!copying_ || (!at_once && sweeps_ == copying_->sweep)) return;
    device_.wait(compute_, copying_->done);
    copying_.reset();
  }
  void synchronize() {
    device_.synchronize(compute_);
    boundaries_.check();
    if (varying_) varying_->check();
  }

  void count_from(std::int64_t sweep) { sweeps_ = sweep; }
  // Begins a part of a step, whose sweeps are counted from 0. After the last part, end_parts() ends the step
  // at `sweep`.
  void begin_part(const PartOfStep& part) {
    if (part.dt != dt()) use(make_method(config_, part.dt));
    part_ = part;
    sweeps_ = 0;
  }
  void end_parts(std::int64_t sweep) {
    if (dt() != dt_) use(make_method(config_));
    part_.reset();
    sweeps_ = sweep;
  }
  // For a grid on which an implicit step is solved: sets the length of a stage and the time at which the
  // coefficients of boundaries are taken, s.
  void use_stage(double dt, double time) {
    config_.problem.implicit_dt = dt;
    config_.problem.implicit_time = time;
    if (boundaries_.vary_in_time()) boundaries_.update(std::array{time}, compute_);
    use(is_coarsest_ ? coarsest_method(config_) : make_method(config_));
  }

  // The current field in host memory; waits for the device. Valid until the next sweep.
  FieldView<const T> host_field();
  // The cells of `boxes` (indices of the subdomain) in host memory, dense, one box after another. If they are
  // few, only they are copied from the device. Collective; each rank passes its own boxes, possibly none.
  std::vector<T> host_cells(const std::vector<Box>& boxes);

 private:
  bool initialise_by_formula();
  void find_body();
  const FieldSum<T>& sums() {  // allocated when first needed
    if (!sums_) all_or_throw(communicator_, [&] { sums_.emplace(device_, extent(), compute_); });
    return *sums_;
  }
  // Launches of several sweeps read the ghosts of the source.
  void update_source_ghosts() {
    if (ghost_layers(config_) == 1) return;
    exchange(*source_);
    synchronize();
  }
  void use_values();  // those of times_
  void update_sources(double t) {
    varying_->update(t, constant_source_ ? constant_source_->view() : FieldView<const T>{}, source_->view(),
                     compute_);
    update_source_ghosts();
  }
  SweepArgs<T> sweep_args(Box region, const UpdateNorm& norm) {
    SweepArgs<T> args{field(), next_.view(), region, unit_, boundaries_.boundaries(), source(), norm};
    args.materials = materials();
    if (probes_) return args;
    auto at = static_cast<std::size_t>(sweeps_ % method_.cycle());
    if (materials_) args.materials = materials_->of_launch(at, method_.weights.size());
    for (Coefficients<T>& c : args.c.sweep) {
      c = coefficients_[at];
      if (++at == coefficients_.size()) at = 0;
    }
    return args;
  }
  Coefficients<T> coefficients_of(double weight) const {
    Coefficients<T> c = rounded_sweep<T>(config_, weight);
    if (uniform_source_) {
      c.heat = scaled_source(c, *uniform_source_);
      c.sigma = 1;
    }
    return c;
  }
  void use(const Method& method) {
    method_ = method;
    coefficients_.clear();
    for (const double weight : method_.weights) coefficients_.push_back(coefficients_of(weight));
    unit_ = coefficients_of(method_.unit);
    if (!materials_) return;
    std::vector<double> weights = method_.weights;
    weights.push_back(method_.unit);
    materials_->use(config_, weights, compute_);
  }

  Config config_;
  bool is_coarsest_;
  Method method_;
  Decomposition decomposition_;
  Communicator communicator_;
  Device& device_;
  Box subdomain_;
  GhostSides sides_;
  Field<T> current_, next_;
  std::optional<Field<T>> source_;
  std::optional<T> uniform_source_;           // K per sweep of the unit weight, instead of a field
  std::optional<VaryingSources<T>> varying_;  // of the deck
  std::optional<SourceBoxes<T>> boxes_;
  std::vector<double> times_;                // s, of the sweeps of the last launch
  std::optional<Field<T>> constant_source_;  // the constant sources, where others vary in time
  BoundaryConditions<T> boundaries_;
  std::optional<MaterialCells<T>> materials_;  // where there are several
  BodyCells body_;
  std::optional<FieldSum<T>> sums_;
  HaloExchange<T> halo_;
  std::unique_ptr<Device> host_;
  std::optional<Field<T>> mirror_;           // a copy of the device's field in host memory
  std::int64_t mirrored_ = -1;               // the sweep at which the field was copied to mirror_
  Buffer packed_;                            // on the device: cells packed for the copy to the host
  std::optional<Owned<Stream>> own_stream_;  // none on a coarser grid
  Stream compute_;
  std::vector<Coefficients<T>> coefficients_;  // of each sweep of a cycle
  Coefficients<T> unit_{};
  bool probes_ = false;
  double dt_ = 0;
  Jumps jumps_;  // of a transient problem
  std::optional<PartOfStep> part_;
  std::int64_t sweeps_ = 0;
  bool has_before_ = false;
  struct Copying {
    Event done;
    std::int64_t sweep;  // at which the field is copied
  };
  std::optional<Copying> copying_;  // until a sweep has waited for it
};

// A copy in host memory of a level's field at one sweep. The next sweeps run during the copy; only the sweep
// that would overwrite the field waits.
template <class T>
class HostCopy {
 public:
  // `level` must outlive it.
  explicit HostCopy(Level<T>& level)
      : level_(level),
        cells_(level.device(), level.extent(), level.field().ghosts, Memory::staging),
        stream_(own_stream(level.device(), Priority::high)),
        made_(own_event(level.device())),
        start_(own_event(level.device(), true)),
        copied_(own_event(level.device(), true)) {}

  // Queues the copy after the work on the field. Ghosts in the copy are undefined: the next exchange may
  // write them meanwhile.
  void take() {
    Device& device = level_.device();
    device.record(made_, level_.compute());
    device.wait(stream_, made_);
    device.record(start_, stream_);
    device.copy(cells_.data(), level_.current().data(), level_.current().bytes(), stream_);
    device.record(copied_, stream_);
    is_blank_ = false;
    level_.protect_until(copied_);
  }

  // Waits for the copy; any thread may call it. The view is valid until the next take().
  FieldView<const T> view() {
    level_.device().synchronize(copied_);
    if (level_.has_void() && !is_blank_) level_.material_cells().blank(cells_.view());
    is_blank_ = true;
    return cells_.view();
  }
  // Duration of the last copy, known after view(): the longest wait of the sweep that overwrites the field.
  double seconds() const { return level_.device().seconds_between(start_, copied_); }

 private:
  Level<T>& level_;
  bool is_blank_ = false;  // are the cells of voids NaN?
  Field<T> cells_;
  Owned<Stream> stream_;
  Owned<Event> made_, start_, copied_;
};

}  // namespace isotherm
