// Solves for the change of a steady problem or an implicit step with several materials, by V cycles, and by
// conjugate gradients where these converge slowly: if materials differ by much, V cycles alone do not reduce
// some errors. The residual is computed from the field, in its precision; changes are in fp32 (defect
// correction; Trottenberg, Oosterlee and Schueller, Multigrid, Academic Press 2001, chapter 2). Conjugate
// gradients start anew with each solution, so a cycle, and a checkpoint, needs no state but the field.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "kernels/conjugate_steps.hpp"
#include "kernels/semicoarsening.hpp"
#include "solver/gathering.hpp"
#include "solver/multigrid.hpp"

namespace isotherm {
namespace {

// Layers of ghosts: as many as the thinnest subdomain of any rank has, within limits.
int layers_of(const Decomposition& decomposition) {
  constexpr Index least = 2, most = 4;
  return static_cast<int>(std::clamp(decomposition.max_halo_width().value_or(least), least, most));
}

// Do cells have a ground conductance (kernels/semicoarsening.hpp)?
bool has_ground(const Config& config) { return is_implicit(config) || has_void(material_classes(config)); }

// A grid of the domain: conductances of faces, an error that starts at 0, halos, all in fp32
// (kernels/semicoarsening.hpp); and its relation to the next finer grid. Work is queued on `compute`. The
// constructor is collective; errors of one rank are thrown on all.
struct ConductanceGrid {
  ConductanceGrid(const Config& config, const Decomposition& cut, const Communicator& ranks, Device& on,
                  Stream queue)
      : decomposition(cut),
        communicator(ranks),
        subdomain(cut.subdomain(ranks.rank())),
        mine(whole()),
        clock(on, queue),
        device(on),
        compute(queue),
        sides(ghost_sides(cut, ranks.rank())),
        ghosts(layers_of(cut)),
        current(new_field()),
        other(new_field()),
        source(new_field()),
        halo(cut, communicator, on, {halo_field(current), halo_field(other), halo_field(source)},
             {config.parallel.transport, config.at("parallel.transport"), config.parallel.probe_timeout,
              false}) {
    for (int i = 0; i < 3 + has_ground(config); ++i) conductances.push_back(new_field());
    // The tests of transports left patterns in the ghosts; beyond boundaries fields must hold 0.
    for (Field<float>* field : {&current, &other, &source})
      FaceCopy<float>::on(device.backend()).fill(field->view(), 0.0F, compute);
    if (!exchanges(sides)) return;
    for (const int layers : {ghosts, 1}) {  // allocates both buffers, which is impossible while recording
      halo.use(layers);
      has_recordable_halo = has_recordable_halo && halo.why_not_recordable().empty();
    }
  }
  ConductanceGrid(const ConductanceGrid&) = delete;

  Box whole() const { return {{0, 0, 0}, subdomain.extent()}; }
  bool is_recordable() const { return has_recordable_halo && !(gathering && gathering->needs_host()); }
  GridConductances faces() const {
    GridConductances g{{conductances[0].view(), conductances[1].view(), conductances[2].view()}, {}};
    if (conductances.size() > 3) g.ground = conductances[3].view();
    return g;
  }

  // Copies `source`, after an exchange of it, to the conductances of the lower faces along the axis, or to
  // the ground for ground_of_cells.
  void take_lower_faces(int axis) {
    exchange(source, ghosts);
    Field<float>& to = conductances[axis];
    device.copy(to.data(), source.data(), to.bytes(), compute);
  }
  // Copies `source` of the cells at the upper boundary to the conductances of their upper faces. Where there
  // is a neighbour instead, these are its lower faces.
  void take_upper_faces(int axis) {
    exchange(source, ghosts);
    if (sides.filled[static_cast<int>(face(axis, true))]) return;
    Box cells = widened_subdomain(subdomain.extent(), sides.filled, ghosts);
    cells.lo[axis] = cells.hi[axis] - 1;
    Int3 up{};
    up[axis] = 1;
    const FaceCopy<float>& copy = FaceCopy<float>::on(device.backend());
    const Buffer dense(device, static_cast<std::size_t>(cells.cells()) * sizeof(float));
    copy.pack(source.view(), cells, dense.as<float>(), compute);
    copy.unpack(dense.as<float>(), conductances[axis].view(), cells.shifted(up), compute);
    device.synchronize(compute);
  }

  void exchange(Field<float>& field, int layers = 1) {  // current, other or source
    if (!exchanges(sides)) return;
    clock.timed(Phase::halo, [&] {
      halo.use(layers);
      halo.start(field.view(), compute);
      halo.finish(field.view(), compute);
    });
  }

  // Sweeps from 0 or from the current field. A cycle has an even number of sweeps. Between exchanges each
  // sweep covers the ghosts that the next one reads.
  void sweep(const std::vector<float>& weights, bool from_zero) {
    const std::size_t at_once = exchanges(sides) ? static_cast<std::size_t>(ghosts) : weights.size();
    if (from_zero) exchange(source, ghosts);
    for (std::size_t i = 0; i < weights.size(); i += at_once) {
      const std::size_t end = std::min(i + at_once, weights.size());
      if (!from_zero) exchange(current, ghosts);
      std::vector<ConductanceSweep> sweeps;
      for (std::size_t j = i; j < end; ++j, from_zero = false, std::swap(current, other))
        sweeps.push_back({faces(), from_zero ? FieldView<const float>{} : current.view(), source.view(),
                          other.view(), widened_subdomain(subdomain.extent(), sides.filled, end - j - 1),
                          weights[j]});
      clock.timed(Phase::sweep, [&] { Semicoarsening<float>::on(device.backend()).sweep(sweeps, compute); });
    }
  }

  Field<float> new_field() const {
    return zeroed_field<float>(communicator, device, subdomain.extent(), ghosts);
  }

  const Decomposition decomposition;
  const Communicator communicator;
  const Box subdomain;
  Halving halving{.axis = -1};
  Box mine;          // cells that this rank restricts to
  PhaseClock clock;  // as in Step
  Device& device;
  Stream compute;
  GhostSides sides;
  int ghosts;  // layers, edges and corners included; as many sweeps follow each exchange
  Field<float> current, other, source;     // the error, K; output of sweeps; the residual of the equation
  std::vector<Field<float>> conductances;  // by axis, then the ground where there is one
  HaloExchange<float> halo;
  bool has_recordable_halo = true;
  // Set if this grid is whole on every rank and the finer one is not. The last member: ranks close their
  // handles to `source` before it is freed.
  std::optional<Gathering<float>> gathering;
};

// The conductances between the field's cells; in an implicit step, for its current length.
template <class T>
BodyConductances<T> body_of(const Level<T>& level) {
  BodyConductances<T> body{level.materials(), level.boundaries().boundaries(), level.extent()};
  const Config& config = level.config();
  if (is_implicit(config))
    body.storage = static_cast<T>(time_plan(config).dt / (level.dt() * implicit_share(config)));
  return body;
}

// V cycles over a grid of the domain and coarser ones by semicoarsening (kernels/semicoarsening.hpp). Each
// has half the cells along the axis of the strongest coupling, down to one cell. Exact sums of conductances
// over the whole grid choose the axes; formulas are local and in fixed order: the same bits with any kernel,
// backend, rank count and process grid. A coarse cell belongs to the rank that has it on the finer grid.
// Small grids are whole on every rank, as in Multigrid.
template <class T>
class MaterialMultigrid {
 public:
  // For the grid of `level`, which must outlive it; work is queued on its stream. Collective. Each rank has
  // two layers of cells along an axis that is cut (why_too_thin() in coarsening.hpp).
  explicit MaterialMultigrid(const Level<T>& level)
      : level_(level),
        ranks_(level.communicator()),
        self_(Communicator::self()),
        device_(level.device()),
        compute_(level.compute()),
        kernels_(Semicoarsening<T>::on(device_.backend())) {
    // Sweeps before and after a correction: of the finest grid, and of all coarser ones. Whatever the
    // conductances, no eigenvalue is above 2 (Gershgorin).
    for (const int sweeps : {3, 8}) {
      const std::vector<double> weights = smoothing_weights(2, sweeps);
      weights_.emplace_back(weights.begin(), weights.end());
    }
    grids_.push_back(std::make_unique<ConductanceGrid>(
        level.config(), level.decomposition().without_single_cells(), ranks_, device_, compute_));
    find_conductances(0);
    for (std::size_t i = 0; grid(i).decomposition.cells().product() > 1; ++i) add_grid(i, axis_below(i));
    if (!can_be_recorded()) return;
    // Recording also loads the kernels, so the first cycle does not pay for that.
    device_.begin_recording(compute_);
    cycle(0);
    graph_.emplace(device_, device_.end_recording(compute_));
  }

  // The grid of the field's cells. A cycle reads its `source` and stores the correction in `current`.
  ConductanceGrid& finest() { return grid(0); }
  void v_cycle() {
    if (!graph_ || finest().clock.waits) return cycle(0);
    finest().clock.timed(Phase::sweep, [&] { device_.launch(*graph_, compute_); });
  }
  // Call it after conductances of the field's cells have changed. Updates all grids: coarse conductances
  // depend on all finer ones, so a partial update would keep a trace of earlier steps.
  void take_conductances() {
    for (std::size_t i = 0; i < grids_.size(); ++i) find_conductances(i);
  }

  std::vector<TimedGrid> timed() {  // the finest first
    std::vector<TimedGrid> all;
    for (const auto& each : grids_) all.push_back({each->decomposition.cells(), &each->clock});
    return all;
  }

 private:
  ConductanceGrid& grid(std::size_t i) { return *grids_[i]; }

  // The axis along which the grid after the i-th has half the cells.
  int axis_below(std::size_t i) {
    ConductanceGrid& fine = grid(i);
    const Int3 cells = fine.decomposition.cells(), lo = fine.subdomain.lo;
    const FieldSum<float> sum(device_, fine.whole().extent(), compute_);
    Vector3 coupling{};
    for (int axis = 0; axis < 3; ++axis) {
      if (cells[axis] == 1) continue;
      const bool wraps = fine.decomposition.periodic()[axis];
      Box inner = fine.whole();
      if (!wraps && lo[axis] == 0) ++inner.lo[axis];
      const auto count = static_cast<double>(cells[axis]);
      const double faces = static_cast<double>(cells.product()) / count * (wraps ? count : count - 1);
      const LongAccumulator mine = sum.over(inner, fine.faces().faces[axis]);
      coupling[axis] = over_ranks(mine, fine.communicator).rounded() / faces;
    }
    return strongest_axis(cells, coupling);
  }

  void add_grid(std::size_t i, int axis) {
    const ConductanceGrid& fine = grid(i);
    const Decomposition& finer = fine.decomposition;
    const HalvedGrid next = halved(level_.config(), finer, axis, device_.backend());
    const bool alone = next.whole && ranks_.size() > 1;
    const auto make = [&] {
      return std::make_unique<ConductanceGrid>(level_.config(), next.decomposition, alone ? self_ : ranks_,
                                               device_, compute_);
    };
    grids_.push_back(alone ? all_or_throw(ranks_, make) : make());
    ConductanceGrid& coarse = *grids_.back();
    const std::array<bool, 3> wraps = finer.periodic();
    coarse.halving = {
        axis, finer.cells(), {wraps[0], wraps[1], wraps[2]}, fine.subdomain.lo, coarse.subdomain.lo};
    if (alone && finer.ranks() > 1) {
      const Decomposition parts_of = finer.halved(axis);
      std::vector<Box> parts;
      for (int rank = 0; rank < finer.ranks(); ++rank) parts.push_back(parts_of.subdomain(rank));
      coarse.mine = parts[ranks_.rank()];
      all_or_throw(ranks_, [&] { coarse.gathering.emplace(ranks_, device_, coarse.source, parts); });
      coarse.gathering->connect(fine.halo);
    }
    find_conductances(i + 1);
  }

  // The conductances of grid i, computed from the field's cells or from the next finer grid. A cell that is
  // its own neighbour exchanges nothing.
  void find_conductances(std::size_t i) {
    const std::array<bool, 3> wraps = level_.decomposition().periodic();
    for (int along = 0; along < std::ssize(grid(i).conductances); ++along) {
      const bool to_itself = along < 3 && wraps[along] && grid(i).decomposition.cells()[along] == 1;
      if (!to_itself) find_conductances(i, along);
    }
  }
  void find_conductances(std::size_t i, int along) {
    ConductanceGrid& to = grid(i);
    const auto find = [&](bool above, Box cells) {
      if (i == 0)
        kernels_.take_conductances(body_of(level_), along, above, to.source.view(), cells, compute_);
      else
        kernels_.coarsen(grid(i - 1).faces(), to.halving, along, above, to.source.view(), cells, compute_);
      if (to.gathering) to.gathering->gather(compute_);
      above ? to.take_upper_faces(along) : to.take_lower_faces(along);
    };
    find(false, to.mine);
    if (along == ground_of_cells || to.decomposition.periodic()[along]) return;
    Box last = to.mine;
    const Index end = to.decomposition.cells()[along] - to.subdomain.lo[along];
    last.lo[along] = std::max(last.lo[along], end - 1);
    find(true, last);
  }

  void restrict_to(std::size_t i) {
    ConductanceGrid &fine = grid(i - 1), &coarse = grid(i);
    fine.exchange(fine.current);
    fine.clock.timed(Phase::sweep, [&] {
      kernels_.find_residual(fine.faces(), coarse.halving, fine.current.view(), fine.source.view(),
                             fine.other.view(), fine.whole(), compute_);
    });
    fine.exchange(fine.other);
    fine.clock.timed(Phase::sweep, [&] {
      kernels_.restrict_residual(fine.faces(), coarse.halving, fine.other.view(), coarse.source.view(),
                                 coarse.mine, compute_);
    });
    if (coarse.gathering) fine.clock.timed(Phase::halo, [&] { coarse.gathering->gather(compute_); });
  }

  void prolong_from(std::size_t i) {
    ConductanceGrid &fine = grid(i - 1), &coarse = grid(i);
    coarse.exchange(coarse.current);
    fine.clock.timed(Phase::sweep, [&] {
      kernels_.prolong_add(fine.faces(), coarse.halving, coarse.current.view(), fine.current.view(),
                           fine.whole(), compute_);
    });
  }

  void cycle(std::size_t i) {
    // One sweep solves for a single cell. After a second one the result is in the same field as at the start.
    if (i + 1 == grids_.size()) return grid(i).sweep({1, 1}, true);
    const std::vector<float>& weights = weights_[std::min(i, weights_.size() - 1)];
    grid(i).sweep(weights, true);
    restrict_to(i + 1);
    cycle(i + 1);
    prolong_from(i + 1);
    grid(i).sweep(weights, false);
  }

  // As in Multigrid.
  bool can_be_recorded() {
    return level_.config().solver.cuda_graph != GraphChoice::off &&
           why_no_graph(level_.config(), device_.backend()).empty() &&
           std::ranges::all_of(grids_, [](const auto& each) { return each->is_recordable(); });
  }

  const Level<T>& level_;
  Communicator ranks_, self_;
  Device& device_;
  Stream compute_;
  const Semicoarsening<T>& kernels_;
  std::vector<std::vector<float>> weights_;  // of the sweeps: finest grid, coarser grids
  std::vector<std::unique_ptr<ConductanceGrid>> grids_;
  std::optional<Owned<Graph>> graph_;
};

// V cycles continue beyond those of the method until only this share of the error is left. Ordinary bodies
// need no more. Random cells do: conjugate gradients that often restart from the residual would stall. No
// later step corrects the remaining error of an implicit step.
struct Goal {
  double left;  // share of the first error
  int most;     // V cycles
};
constexpr Goal of_cycle{1e-2, 200}, of_step{1e-6, 1000};

// V cycles continue without conjugate gradients while each leaves at most this share of the error.
constexpr double plain_left = 0.1;

template <class T>
class MaterialCorrection : public Correction<T> {
 public:
  explicit MaterialCorrection(Step<T>& step)
      : step_(step),
        level_(step.level()),
        multigrid_(level_),
        last_(zeroed_field<float>(level_.communicator(), level_.device(), level_.extent(), 0)),
        image_(zeroed_field<float>(level_.communicator(), level_.device(), level_.extent(), 0)),
        sums_(level_.device(), conjugate_products * sizeof(LongAccumulator)) {}

  void take(bool from_the_start) override {
    solve(1, v_cycles(level_.config()), from_the_start);
    if (mean_is_free(level_.config())) {  // over the volume: shifted to that of the deck
      const double mean = level_.mean();
      step_by({0, 0, *level_.config().problem.mean_temperature - mean});
      level_.hold_voids();
    }
    level_.advance_in_place(level_.method().cycle());
  }

  void solve(double scale, int cycles, bool) override {
    if (const double dt = std::exchange(dt_, level_.dt());
        dt != dt_ || coefficients_use_time(level_.config()))
      multigrid_.take_conductances();
    level_.wait_for_copy(true);  // the field is changed in place
    step_.refresh_ghosts();
    level_.fill_boundaries(level_.whole());
    step_.clock.timed(Phase::sweep, [&] {
      kernels().find_residual_of_body(body_of(level_), static_cast<T>(scale), level_.field(), level_.source(),
                                      multigrid_.finest().source.view(), level_.whole(), level_.compute());
    });
    last_product_ = last_residual_ = energy_ = 0;
    is_plain_ = true;
    const bool is_step = is_implicit(level_.config());
    const Goal goal = is_step ? of_step : of_cycle;
    double first = 0;
    const auto misses_goal = [&] { return std::abs(energy_) > goal.left * goal.left * first; };
    int taken = 0;
    for (; taken < cycles || (taken < goal.most && misses_goal()); ++taken) {
      multigrid_.v_cycle();
      add_correction();
      if (taken == 0) first = energy_;
    }
    if (is_step && misses_goal())
      throw error_of<CollectiveError>(
          ExitCode::not_converged,
          "{}: an implicit step is not solved after {} V cycles, {:.1g} of its change is left: "
          "conductivities of cells differ by too much for steps so long; use shorter steps, or method rkl or "
          "euler",
          level_.config().at("problem.method"), of_step.most, std::sqrt(std::abs(energy_) / first));
    extra_sweeps_ += (taken - cycles) * 2 * level_.method().in_a_row;
    step_.invalidate_ghosts();
  }

  std::int64_t extra_sweeps() const override { return extra_sweeps_; }
  std::vector<TimedGrid> timed() override { return multigrid_.timed(); }

 private:
  const Semicoarsening<T>& kernels() const { return Semicoarsening<T>::on(level_.device().backend()); }
  const ConjugateSteps<T>& steps() const { return ConjugateSteps<T>::on(level_.device().backend()); }
  void step_by(ConjugateParts parts) { steps().take(fields(), parts, level_.compute()); }
  ConjugateFields<T> fields() {
    ConductanceGrid& grid = multigrid_.finest();
    return {.field = level_.current().view(),
            .residual = grid.source.view(),
            .correction = grid.current.view(),
            .brought = grid.other.view(),
            .step = last_.view(),
            .image = image_.view(),
            .region = level_.whole()};
  }

  void add_correction() {
    ConductanceGrid& grid = multigrid_.finest();
    ConjugateParts parts;
    grid.exchange(grid.current);
    grid.clock.timed(Phase::sweep, [&] {
      kernels().find_residual(grid.faces(), {.axis = -1}, grid.current.view(), {}, grid.other.view(),
                              level_.whole(), level_.compute());
    });
    const bool accelerates = level_.config().problem.accelerate == Acceleration::cg;
    if (accelerates || is_implicit(level_.config()))
      grid.clock.timed(Phase::reduction, [&] { parts = next_parts(accelerates); });
    grid.clock.timed(Phase::sweep, [&] { step_by(parts); });
  }

  // The parts of the next step: the whole correction as long as V cycles alone converge, then the parts that
  // minimise the error in the norm of A. The first of these steps also minimises over the last plain step. If
  // the parts are unusable because of rounding, the iteration restarts with the whole correction.
  ConjugateParts next_parts(bool accelerates) {
    using Sums = std::array<LongAccumulator, conjugate_products>;
    const Sums sums = from_device<Sums>(level_.device(), sums_, level_.compute(), [&](Sums* result) {
      steps().products(fields(), result->data(), level_.compute());
    });
    std::array<double, conjugate_products> of{};
    for (std::size_t i = 0; i < sums.size(); ++i)
      of[i] = over_ranks(sums[i], level_.communicator()).rounded();
    const double before = std::exchange(energy_, of[r_z]), d_Ad = std::exchange(last_product_, 0),
                 r_d = std::exchange(last_residual_, 0);
    if (before != 0 && std::abs(energy_) > plain_left * plain_left * std::abs(before)) is_plain_ = false;
    if (is_plain_ || !accelerates) {
      last_product_ = of[z_Az];
      last_residual_ = of[r_z] - of[z_Az];
      return {};
    }
    const double determinant = of[z_Az] * d_Ad - of[z_Ad] * of[z_Ad];
    double of_correction = of[r_z] / of[z_Az], of_last = 0;
    constexpr double independent = 1e-12, most = 100;
    if (determinant > independent * of[z_Az] * d_Ad) {
      of_correction = (of[r_z] * d_Ad - r_d * of[z_Ad]) / determinant;
      of_last = (r_d * of[z_Az] - of[r_z] * of[z_Ad]) / determinant;
    }
    if (!(of_correction > 0 && of_correction < most && std::abs(of_last) < most)) return {};
    last_product_ =
        of_correction * (of_correction * of[z_Az] + 2 * of_last * of[z_Ad]) + of_last * of_last * d_Ad;
    return {static_cast<float>(of_correction), static_cast<float>(of_last)};
  }

  Step<T>& step_;
  Level<T>& level_;
  double dt_ = level_.dt();
  MaterialMultigrid<T> multigrid_;
  Field<float> last_, image_;  // the last step d, and A d
  double last_product_ = 0;    // d A d; 0: there is no last step
  double last_residual_ = 0;   // r d after the last step
  bool is_plain_ = true;       // have V cycles alone converged so far?
  double energy_ = 0;          // r z before the last step: about the error's square in the norm of A
  std::int64_t extra_sweeps_ = 0;
  Buffer sums_;
};

}  // namespace

template <class T>
std::unique_ptr<Correction<T>> make_material_correction(Step<T>& step) {
  return std::make_unique<MaterialCorrection<T>>(step);
}

// Assumes the grids of one material: other grids differ in shape, not in their number of cells.
std::size_t material_correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                      Backend backend) {
  const std::size_t fields = has_ground(config) ? 7 : 6;
  const auto grid_bytes = [&](const Decomposition& cut, int of) {
    return fields * field_bytes(cut.subdomain(of).extent(), layers_of(cut), sizeof(float), backend);
  };
  std::size_t bytes = 2 * field_bytes(decomposition.subdomain(rank).extent(), 0, sizeof(float), backend) +
                      grid_bytes(decomposition, rank);
  bool finer_is_whole = decomposition.ranks() == 1;
  for (const HalvedGrid& grid : likely_halved_grids(config, decomposition, backend)) {
    bytes += grid_bytes(grid.decomposition, grid.whole ? 0 : rank);
    if (grid.whole && !finer_is_whole) bytes += sizeof(float) * grid.decomposition.cells().product();
    finer_is_whole = grid.whole;
  }
  return bytes;
}

template std::unique_ptr<Correction<float>> make_material_correction(Step<float>&);
template std::unique_ptr<Correction<double>> make_material_correction(Step<double>&);

}  // namespace isotherm
