// A grid with its fields, coefficients, boundary conditions and halo exchange: the state of a problem on one
// rank.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
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
#include "kernels/stencil.hpp"
#include "physics/boundaries.hpp"
#include "physics/dataset_reader.hpp"
#include "physics/materials.hpp"
#include "physics/region_values.hpp"
#include "physics/varying_sources.hpp"
#include "solver/diagnosis.hpp"
#include "solver/method.hpp"
#include "solver/source_boxes.hpp"

namespace isotherm {

// Memory of a field that holds 0, touched first by the threads that will sweep it. Collective; errors of one
// rank are thrown on all.
template <class T>
Field<T> zeroed_field(const Communicator& communicator, Device& device, Int3 extent, int ghosts) {
  return all_or_throw(communicator, [&] {
    Field<T> field(device, extent, ghosts);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    face_copy<T>(device.backend()).fill(field.view(), T(0), stream);
    device.synchronize(stream);
    return field;
  });
}

// A field as it was at one sweep, in host memory, while the next sweeps go on. Taken by Solver::copy_to(),
// which lets no sweep write over what is still being copied.
template <class T>
class HostCopy {
 public:
  // `blank`: what the cells of voids are made of the copy; none: there are no voids.
  HostCopy(Device& device, Int3 extent, int ghosts, std::function<void(FieldView<T>)> blank = {})
      : device_(device),
        blank_(std::move(blank)),
        cells_(device, extent, ghosts, Memory::staging),
        stream_(own_stream(device, Priority::high)),
        made_(own_event(device)),
        start_(own_timing_event(device)),
        copied_(own_timing_event(device)) {}

  // Queues the copy behind what `before` holds. Of the ghosts, which the next exchange writes meanwhile,
  // anything may arrive.
  void take(const Field<T>& field, Stream before) {
    device_.record(made_, before);
    device_.wait(stream_, made_);
    device_.record(start_, stream_);
    device_.copy(cells_.data(), field.data(), field.bytes(), stream_);
    device_.record(copied_, stream_);
    is_blank_ = false;
  }
  Event copied() const { return copied_; }

  // Waits for the copy, in any thread. Valid until the next take().
  FieldView<const T> view() {
    device_.synchronize(copied_);
    if (blank_ && !is_blank_) blank_(cells_.view());
    is_blank_ = true;
    return std::as_const(cells_).view();
  }
  // That the last copy took, once view() was called: what the sweep that overwrites the field waits at most.
  double seconds() const { return device_.seconds_between(start_, copied_); }

 private:
  Device& device_;
  std::function<void(FieldView<T>)> blank_;
  bool is_blank_ = false;
  Field<T> cells_;
  Owned<Stream> stream_;
  Owned<Event> made_, start_, copied_;
};

struct LevelOptions {
  bool time_halos = false;
  // Of a grid below the field's: its method, and the stream of the field's grid, in which its work is queued.
  // It has a source, which nothing fills here.
  std::optional<Method> method = {};
  std::optional<Stream> compute = {};
};

// Sweeps that were recorded once and are queued again as a whole.
template <class T>
struct RecordedSweeps {
  std::optional<Owned<Graph>> graph = {};
  const T* starts_at = nullptr;  // the origin of the field that it reads first
  std::int64_t count = 0;
};

template <class T>
class Level {
 public:
  // Allocates fields with ghost_layers(config) layers of ghosts, and one for sources where the deck has some,
  // and proves the transports of the halo with them; cells are undefined until initialise() or read().
  // `device` must outlive the level. Collective; errors of one rank are thrown on all.
  Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
        Device& device, const LevelOptions& options = {});
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  // Collective. The sources of the deck, while the halo has all layers; returns the totals over all ranks
  // of those that are no products.
  SourceTotals fill_sources();
  // Collective. The initial state of the deck, and that of a file.
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
  // Of a body of several, those of that sweep; else empty.
  const MaterialCells<T>& material_cells() const { return *materials_; }  // of several
  Materials<T> materials() const {
    const std::size_t cycle = method_.weights.size();
    return materials_ ? materials_->of_launch(cycle, cycle) : Materials<T>{};
  }
  std::vector<std::int64_t> cells_of_material() const {  // of this rank
    return materials_ ? materials_->cells_of_material() : std::vector<std::int64_t>();
  }

  // Cells of voids hold what they did before, where something else than sweeps has changed the field.
  void hold_voids() {
    if (has_void()) materials_->hold(current_.view(), compute_);
  }
  // Is a part of the domain no body? Its cells hold NaN in what goes to the host.
  bool has_void() const { return materials_ && materials_->has_void(); }
  bool is_void(Index x, Index y, Index z) const { return materials_->is_void(x, y, z); }  // in host memory
  const BodyCells& body() const { return body_; }
  double mean(FieldSum<T>& sum) const { return sum.mean(field(), materials(), body_); }  // K; collective

  // The field now, the one from which the last sweep made it, and the sources (empty where there are none).
  Field<T>& current() { return current_; }
  FieldView<const T> field() const { return current_.view(); }
  FieldView<const T> before() const { return next_.view(); }
  Field<T>& other() { return next_; }  // what the next sweep writes to
  FieldView<const T> source() const { return source_ ? source_->view() : FieldView<const T>{}; }
  Field<T>& source_field() { return *source_; }
  Field<T> new_field() const {  // as these; collective
    return zeroed_field<T>(communicator_, device_, extent(), ghost_layers(config_));
  }
  // What flows from sources that vary in time, where they do, in the last sweep: as an exact sum over the
  // block. sum(field): that of a field. Not collective.
  bool sources_vary() const { return varying_ && varying_->vary_in_time(); }
  LongAccumulator source_sum(const std::function<LongAccumulator(FieldView<const T>)>& sum) {
    LongAccumulator all{};
    if (source_) all.add(sum(source()));
    if (boxes_) all.add(boxes_->sum(times_.front(), source(), extent(), compute_, sum));
    return all;
  }
  std::int64_t sweeps() const { return sweeps_; }  // since the initial state
  // s: of the last end of a cycle, or of a part of one, and how long the next takes; 0 in a steady problem.
  double time() const {
    if (part_) return part_->time;
    return static_cast<double>(sweeps_ / method_.cycle()) * dt_;
  }
  double dt() const { return part_ ? part_->dt : dt_; }
  bool between_cycles() const { return sweeps_ % method_.cycle() == 0; }
  // Does before() hold the field from which one single sweep made the current one?
  bool has_before() const { return has_before_; }

  // Everything below is queued on compute() in order, exchanges on a stream of higher priority beside it.

  // Values of boundaries and sources for the sweeps that come next, where they vary in time: for each those
  // of its beginning, and for all sweeps of a longer cycle those of its middle, or of another `share` of its
  // time. Sources have one for all sweeps.
  void update_values(int sweeps, std::optional<double> share = {});
  double values_time() const { return times_.front(); }  // s, of the last of these
  // Ghosts beyond the boundaries at which `region` ends, but for axes across which a kernel has its
  // `own_boundaries`.
  void fill_boundaries(Box region, const std::array<bool, 3>& own_boundaries = {}) {
    const TraceRange range(Phase::boundaries);
    face_copy<T>(device_.backend())
        .fill_boundaries(current_.view(), boundaries_in_ghosts(own_boundaries, boundaries_.boundaries()),
                         region, compute_);
  }
  void start_exchange() { halo_.start(current_.view(), compute_, halo_stream_); }
  void finish_exchange() { halo_.finish(current_.view(), compute_, halo_stream_); }
  void exchange(Field<T>& field) {  // one of this level's
    halo_.start(field.view(), compute_, halo_stream_);
    halo_.finish(field.view(), compute_, halo_stream_);
  }
  void set_zero() {  // the current field, ghosts included
    face_copy<T>(device_.backend()).fill(current_.view(), T(0), compute_);
  }
  // A launch of sweeps of `region` from the current field into the other one, with `stores_faces` into the
  // neighbours' ghosts too; and of the region without `interior`, which was swept before.
  void sweep(const StencilKernel<T>& kernel, SweepPlan plan, Box region, const UpdateNorm& norm,
             bool stores_faces = false) {
    SweepArgs<T> args = sweep_args(region, norm);
    if (stores_faces) args.stores = halo_.stores(current_.view(), next_.view(), compute_);
    kernel.launch(args, plan, compute_);
  }
  void sweep_exterior(const StencilKernel<T>& kernel, SweepPlan plan, Box region, Box interior,
                      const UpdateNorm& norm) {
    launch_exterior(kernel, sweep_args(region, norm), interior, plan, compute_);
  }
  // Behind a launch of `region`, where its sources are swept in boxes.
  void sweep_source_boxes(int sweeps, Box region) {
    if (boxes_)
      boxes_->sweep(sweep_args(region, {}), std::span(times_).first(static_cast<std::size_t>(sweeps)),
                    compute_);
  }
  // The other field becomes the current one, so many sweeps later, which one launch made.
  void advance(int sweeps) {
    std::swap(current_, next_);
    sweeps_ += sweeps;
    has_before_ = sweeps == 1;
  }
  // The sweep between these two has the unit weight and leaves its result in before(), but where only its
  // norm is wanted: the field stays as it is.
  void begin_probe(bool norm_alone) {
    probes_ = true;
    norm_alone_ = norm_alone;
  }
  void end_probe() {
    probes_ = false;
    std::swap(current_, next_);
    --sweeps_;
    has_before_ = false;
  }
  // So many sweeps were taken that have left their result in the current field.
  void advance_in_place(std::int64_t sweeps, bool has_before = false) {
    sweeps_ += sweeps;
    has_before_ = has_before;
  }
  // The sweeps that `work` queues from the current field, an even number of launches: none is done yet.
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
  // `copied`: when the copy of the current field is complete. The sweep that overwrites it waits.
  void protect_until(Event copied) { copying_ = {copied, sweeps_}; }
  // The sweeps wait, not the host. The first sweep after the copy began reads its field, the second
  // overwrites it.
  void wait_for_copy(bool at_once = false) {
    if (!copying_ || (!at_once && sweeps_ == copying_->sweep)) return;
    device_.wait(compute_, copying_->done);
    copying_.reset();
  }
  void synchronize() {
    device_.synchronize(halo_stream_);
    device_.synchronize(compute_);
    boundaries_.check();
    if (varying_) varying_->check();
  }

  void count_from(std::int64_t sweep) { sweeps_ = sweep; }
  // A part of a cycle, from `time` on, of `dt` s, is a step of its own, whose sweeps are counted from 0; its
  // values are those before `jump`. After the last the cycle has ended at that sweep.
  void begin_part(double time, double dt, double jump = std::numeric_limits<double>::infinity()) {
    if (dt != this->dt()) use(make_method(config_, dt));
    part_ = {time, dt, jump};
    sweeps_ = 0;
  }
  void end_parts(std::int64_t sweep) {
    if (dt() != dt_) use(make_method(config_));
    part_.reset();
    sweeps_ = sweep;
  }
  // Of a grid on which an implicit step is solved, from here on: the length of a stage, and the time at which
  // coefficients of boundaries are taken, s.
  void use_stage(double dt, double time, bool coarsest) {
    config_.problem.implicit_dt = dt;
    config_.problem.implicit_time = time;
    if (boundaries_.vary_in_time()) boundaries_.update(std::array{time}, compute_);
    use(coarsest ? coarsest_method(config_) : make_method(config_));
  }

  // The current field in host memory; waits for the device. Valid until the next sweep.
  FieldView<const T> host_field();
  // Its cells of `boxes` alone, in indices of the block, dense, one box after another; nothing else is moved
  // while they are few. Collective, with boxes of each rank's own, which may be none.
  std::vector<T> host_cells(const std::vector<Box>& boxes);

 private:
  bool initialise_by_formula();
  void find_body();
  // Launches of several sweeps read the ghosts.
  void bring_source_ghosts() {
    if (ghost_layers(config_) == 1) return;
    exchange(*source_);
    synchronize();
  }
  void update_sources(double t) {
    varying_->update(t, constant_source_ ? std::as_const(*constant_source_).view() : FieldView<const T>{},
                     source_->view(), compute_);
    bring_source_ghosts();
  }
  SweepArgs<T> sweep_args(Box region, const UpdateNorm& norm) {
    SweepArgs<T> args{field(), next_.view(), region, unit_, boundaries_.boundaries(), source(), norm};
    // Planes that overwrite each other stay in a GPU's cache: nothing is written to memory.
    if (probes_ && norm_alone_ && device_.backend() == Backend::cuda) args.out.pitch_z = 0;
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
  void use(const Method& method) {
    method_ = method;
    coefficients_.clear();
    for (const double weight : method_.weights) coefficients_.push_back(rounded_sweep<T>(config_, weight));
    unit_ = rounded_sweep<T>(config_, method_.unit);
    if (!materials_) return;
    std::vector<double> weights = method_.weights;
    weights.push_back(method_.unit);
    materials_->use(config_, weights, compute_);
  }

  Config config_;
  Method method_;
  Decomposition decomposition_;
  Communicator communicator_;
  Device& device_;
  Box subdomain_;
  GhostSides sides_;
  Field<T> current_, next_;
  std::optional<Field<T>> source_;
  std::optional<VaryingSources<T>> varying_;  // of the deck
  std::optional<SourceBoxes<T>> boxes_;
  std::vector<double> times_;                // s, of the sweeps of the last launch
  std::optional<Field<T>> constant_source_;  // what of the source never changes, where some of it does
  BoundaryConditions<T> boundaries_;
  std::optional<MaterialCells<T>> materials_;  // of several
  BodyCells body_;
  HaloExchange<T> halo_;
  std::unique_ptr<Device> host_;
  std::optional<Field<T>> mirror_;           // of a device's field, in host memory
  std::int64_t mirrored_ = -1;               // the sweep of which mirror_ holds the field
  Buffer packed_;                            // of the device: cells on their way to the host
  std::optional<Owned<Stream>> own_stream_;  // none of a coarser grid
  Stream compute_;
  Owned<Stream> halo_stream_;
  std::vector<Coefficients<T>> coefficients_;  // of each sweep of a cycle
  Coefficients<T> unit_{};
  bool probes_ = false, norm_alone_ = false;
  double dt_ = 0;
  struct Part {
    double time, dt, jump;  // s
  };
  std::optional<Part> part_;
  std::int64_t sweeps_ = 0;
  bool has_before_ = false;
  struct Copying {
    Event done;
    std::int64_t sweep;  // whose field is copied
  };
  std::optional<Copying> copying_;  // until a sweep has waited for it
};

}  // namespace isotherm
