#include "solver/level.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "physics/formula_values.hpp"
#include "physics/operator.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {
namespace {

// Small enough that pinning is cheap compared with copying a large field, large enough for full bandwidth.
constexpr Index slab_bytes = Index{64} << 20;

// Fills a field from the host: in place if it is in host memory, else slab by slab through staging memory.
// All threads compute one slab while the device copies the previous one; planes that repeat in `values` are
// copied on the device. make(cells, view, times) writes z planes to host memory, `view`, without ghosts;
// `cells`: a part of the subdomain, in global indices; `times`: the number of equal planes, of which `cells`
// is the first. The field's ghosts must hold 0 before.
template <class T, class Make>
void fill_from_host(Field<T>& field, Box subdomain, Device& device, Stream stream, const Make& make,
                    const RegionValues* values = nullptr) {
  const FieldView<T> whole = field.view();
  if (device.backend() == Backend::host) return make(subdomain, whole, 1);
  const Int3 n = whole.extent;
  const Index plane_bytes = whole.pitch_z * static_cast<Index>(sizeof(T));
  const Index planes = std::clamp<Index>(slab_bytes / plane_bytes, 1, n.z);
  const auto bytes = static_cast<std::size_t>(planes * plane_bytes);
  const Buffer slabs[] = {{device, bytes, Memory::staging}, {device, bytes, Memory::staging}};
  const Owned<Event> copied[] = {own_event(device), own_event(device)};
  // Copies include the ghosts and padding between rows, and store there the 0 that they already hold.
  for (const Buffer& slab : slabs) std::fill_n(slab.as<T>(), planes * whole.pitch_z, T(0));
  const auto copy = [&](Index to, const T* from, Index count) {
    const Index elements = (count - 1) * whole.pitch_z + (n.y - 1) * whole.pitch_y + n.x;
    device.copy(&whole(0, 0, to), from, static_cast<std::size_t>(elements) * sizeof(T), stream);
  };

  for (Index z = 0, turn = 0; z < n.z; ++turn) {
    const Event free_after = copied[turn % 2];
    if (turn >= 2) device.synchronize(free_after);
    const Index first = subdomain.lo.z + z;
    const Index times = values ? values->repeated_until(first + 1, subdomain.hi.z) - first : 1;
    const Index count = times > 1 ? 1 : std::min(planes, n.z - z);
    Box cells = subdomain;
    cells.lo.z = first, cells.hi.z = first + count;
    T* const host = slabs[turn % 2].as<T>();
    make(cells, {host, whole.pitch_y, whole.pitch_z, {n.x, n.y, count}, 0}, times);
    copy(z, host, count);
    device.record(free_after, stream);
    for (Index done = 1; done < times; done *= 2)
      copy(z + done, &whole(0, 0, z), std::min(done, times - done));
    z += std::max(count, times);
  }
  device.synchronize(stream);
}

// At most one in this many cells is packed: the copy on the device must be small compared with the fields.
constexpr Index cells_per_packed = 16;

template <class T>
void pack(Backend backend, FieldView<const T> field, const std::vector<Box>& boxes, T* dense, Stream stream) {
  for (const Box& box : boxes) {
    if (box.empty()) continue;
    FaceCopy<T>::on(backend).pack(field, box, dense, stream);
    dense += box.cells();
  }
}

}  // namespace

template <class T>
Level<T>::Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                Device& device, const LevelOptions& options)
    : config_(config),
      is_coarsest_(options.coarsest),
      method_(is_coarsest_ ? coarsest_method(config) : make_method(config)),
      decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      subdomain_(decomposition.subdomain(communicator.rank())),
      sides_(ghost_sides(decomposition, communicator.rank())),
      current_(new_field()),
      next_(new_field()),
      source_(options.compute || fields_of_sources(config) > 0 ? std::optional(new_field()) : std::nullopt),
      boundaries_(all_or_throw(communicator,
                               [&] {
                                 return BoundaryConditions<T>(
                                     config_, device, subdomain_, ghost_layers(config),
                                     decomposition.boundaries(communicator.rank()),
                                     std::min(longest_time_block(config), most_sweeps_per_launch));
                               })),
      halo_(decomposition, communicator_, device,
            source_ ? std::vector{halo_field(current_), halo_field(next_), halo_field(*source_)}
                    : std::vector{halo_field(current_), halo_field(next_)},
            {config.parallel.transport, config.at("parallel.transport"), config.parallel.probe_timeout,
             options.time_halos}),
      host_(make_host_device(device.row_alignment())),
      own_stream_(options.compute ? std::nullopt : std::optional(own_stream(device, Priority::normal))),
      compute_(options.compute ? *options.compute : own_stream_->get()),
      dt_(config.problem.kind == ProblemKind::transient ? time_plan(config).dt : 0) {
  if (dt_ > 0) jumps_ = {jump_times(config), dt_};
  all_or_throw(communicator, [&] {
    if (has_several_materials(config))
      materials_.emplace(config, device, subdomain_, class_ghosts(config), boundaries_.differ_by_cell(),
                         longest_launch<T>(config, device.backend()));
    use(method_);
  });
  find_body();
}

template <class T>
void Level<T>::find_body() {
  if (!materials_) {
    const Index cells = config_.grid.cells.product();
    body_ = {cells, static_cast<double>(cells)};
    return;
  }
  std::vector<std::int64_t> cells = materials_->cells_of_class();
  communicator_.all_reduce<std::int64_t>(cells, ReduceOp::sum);
  const MaterialClasses& all = materials_->classes();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (all.classes[i].is_void()) {
      body_.voids.emplace_back(static_cast<double>(static_cast<T>(all.classes[i].ambient)), cells[i]);
      continue;
    }
    body_.count += cells[i];
    body_.volume += static_cast<double>(cells[i]) * volume_ratio(config_, all.classes[i]);
  }
  if (has_void() || config_.grid.is_graded()) body_.weights = materials_->body();
  if (has_void()) body_.cells = materials_->is_body();
}

template <class T>
std::string Level<T>::why_no_graph() const {
  const std::string why = isotherm::why_no_graph(config_, device_.backend());
  return why.empty() ? halo_.why_not_recordable() : why;
}

template <class T>
HeatTotals Level<T>::fill_sources() {
  if (all_sources(config_).empty()) return {};
  const std::vector<RegionValue> entries = constant_sources(config_);
  const bool any_vary = !varying_sources(config_).empty();
  HeatTotals mine;
  const bool in_boxes = sources_in_boxes(config_);
  if (source_) FaceCopy<T>::on(device_.backend()).fill(source_->view(), T(0), compute_);
  if (any_vary && !in_boxes && !entries.empty()) constant_source_.emplace(new_field());
  all_or_throw(communicator_, [&] {
    if (source_is_uniform(config_)) {
      T of_cell[1];
      RegionValues(config_, entries, "sources")
          .apply(source_scale(config_), {{0, 0, 0}, {1, 1, 1}}, dense_view(of_cell, {1, 1, 1}));
      uniform_source_ = of_cell[0];
      use(method_);
      mine = in_watts(config_, sum_sources(config_, subdomain_));
      return;
    }
    if (!entries.empty()) {
      const RegionValues region_values(config_, entries, "sources");
      HeatTotals totals;
      fill_from_host(
          constant_source_ ? *constant_source_ : *source_, subdomain_, device_, compute_,
          [&](Box cells, FieldView<T> view, Index times) {
            totals = totals + times * region_values.apply(source_scale(config_), cells, view);
          },
          &region_values);
      mine = in_watts(config_, totals);
    }
    mine = mine + formula_totals(config_, subdomain_);
    if (any_vary) varying_.emplace(config_, device_, subdomain_);
    if (in_boxes) boxes_.emplace(device_, *varying_);
  });
  if (any_vary && !in_boxes)
    update_sources(0);
  else if (source_)
    update_source_ghosts();
  return {communicator_.all_reduce(mine.net, ReduceOp::sum),
          communicator_.all_reduce(mine.gross, ReduceOp::sum),
          communicator_.all_reduce(mine.cells, ReduceOp::sum)};
}

// Evaluates one formula on the device. False: another state, or unsound values, which initialise() reports.
template <class T>
bool Level<T>::initialise_by_formula() {
  if (has_void() || config_.initial.size() != 1 || config_.initial[0].shape != Shape::formula ||
      config_.initial[0].mode != RegionMode::set || config_.initial[0].formula.is_constant())
    return false;
  const FieldView<T> field = current_.view();
  FormulaValues<T> values(device_, config_.initial[0].formula, cell_axes(config_, subdomain_), 1,
                          lowest_temperature(config_));
  values.evaluate(whole(), std::array{0.0}, {field.origin, field.pitch_y, field.pitch_z, 0}, compute_);
  synchronize();
  return !values.unsound_at();
}

template <class T>
void Level<T>::initialise() {
  const auto fill = [&](std::optional<double> shift_by) {
    all_or_throw(communicator_, [&] {
      const RegionValues region_values(config_, config_.initial, "initial");
      const auto make = [&](Box cells, FieldView<T> view, Index) {
        region_values.apply(1.0, cells, view);
        if (!shift_by) return;
        for_each_cell(view.interior(),
                      [&](Int3 cell) { view(cell) = static_cast<T>(view(cell) + *shift_by); });
      };
      fill_from_host(current_, subdomain_, device_, compute_, make, &region_values);
    });
  };
  const bool is_free = mean_is_free(config_);
  const bool mine = !is_free && all_or_throw(communicator_, [&] { return initialise_by_formula(); });
  if (!communicator_.all(mine)) fill({});
  if (is_free) {
    // No boundary fixes the temperature: the initial state is shifted to the mean of the deck. Jacobi sweeps
    // of a balanced problem preserve it.
    fill(config_.problem.mean_temperature.value() - mean());
  }
  hold_voids();
}

template <class T>
void Level<T>::read(const StoredField& stored) {
  all_or_throw(communicator_, [&] {
    fill_from_host(current_, subdomain_, device_, compute_, [&](Box cells, FieldView<T> view, Index) {
      read_field(stored, config_.grid.cells, cells, view);
    });
  });
  hold_voids();
}

template <class T>
void Level<T>::update_values(int sweeps, std::optional<double> share) {
  if (!between_cycles() || !own_stream_) return;  // other grids than the field's have use_stage()
  if (probes_) return;                            // measures the update with the values that made the field
  times_ = {time() + share.value_or(method_.cycle() > 1 ? 0.5 : 0) * dt()};
  if (part_) times_[0] = std::min(times_[0], std::nextafter(part_->until, part_->from));
  if (method_.cycle() == 1) {
    for (int i = 1; i < sweeps; ++i) times_.push_back(static_cast<double>(sweeps_ + i) * dt_);
    for (double& time : times_) time = jumps_.at_jump(time);
  }
  use_values();
}

template <class T>
void Level<T>::use_values() {
  if (times_.empty()) return;
  if (sources_vary() && !boxes_) update_sources(times_.front());
  if (boundaries_.vary_in_time()) boundaries_.update(times_, compute_);
}

template <class T>
FieldView<const T> Level<T>::host_field() {
  if (on_host() && !has_void()) return field();
  if (!mirror_) mirror_.emplace(*host_, extent(), field().ghosts);
  if (mirrored_ != sweeps_) {
    device_.copy(mirror_->data(), current_.data(), current_.bytes(), compute_);
    device_.synchronize(compute_);
    if (has_void()) materials_->blank(mirror_->view());
    mirrored_ = sweeps_;
  }
  return mirror_->view();
}

template <class T>
std::vector<T> Level<T>::host_cells(const std::vector<Box>& boxes) {
  Index count = 0;
  for (const Box& box : boxes) count += box.cells();
  std::vector<T> dense(static_cast<std::size_t>(count));
  const bool whole = on_host() || mirrored_ == sweeps_ || count > subdomain_.cells() / cells_per_packed;
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
    T* cells = dense.data();
    for (const Box& box : boxes) {
      if (has_void() && !box.empty()) materials_->blank(dense_view(cells, box.extent()), box.lo);
      cells += box.cells();
    }
  }
  return dense;
}

template class Level<float>;
template class Level<double>;

}  // namespace isotherm
