// A grid with its fields, coefficients, boundary conditions and halo exchange: the state of a problem on one
// rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "kernels/stencil.hpp"
#include "physics/boundaries.hpp"
#include "physics/dataset_reader.hpp"
#include "physics/region_values.hpp"
#include "solver/method.hpp"

namespace isotherm {

template <class T>
class Level {
 public:
  // Allocates fields with ghost_layers(config) layers of ghosts and proves the transports of the halo with
  // them; cells are undefined until initialise() or read(). `device` must outlive the level. Collective;
  // errors of one rank are thrown on all.
  Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
        Device& device, bool time_halos);
  // A coarser grid of multigrid, whose work is queued in the stream of the finest. It has a source, which
  // nothing fills here, and the halo exchanges that too.
  Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
        Device& device, const Method& method, Stream compute);
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  // Collective. The sources of the deck, into a field of their own; returns their totals over all ranks.
  SourceTotals fill_sources();
  void add_empty_source();  // where the deck has sources: for sweeps that are timed alone
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

  // The field now, the one from which the last sweep made it, and the sources (empty where there are none).
  Field<T>& current() { return current_; }
  FieldView<const T> field() const { return current_.view(); }
  FieldView<const T> before() const { return next_.view(); }
  FieldView<const T> source() const { return source_ ? source_->view() : FieldView<const T>{}; }
  Field<T>& source_field() { return *source_; }
  std::int64_t sweeps() const { return sweeps_; }  // since the initial state
  // s: of the last end of a cycle, or of a part of one, and how long the next takes; 0 in a steady problem.
  double time() const;
  double dt() const { return part_ ? part_->dt : dt_; }
  bool between_cycles() const { return sweeps_ % method_.cycle() == 0; }
  // Does before() hold the field from which one single sweep made the current one?
  bool has_before() const { return has_before_; }

  // Everything below is queued on compute() in order, exchanges on a stream of higher priority beside it.

  // Values of boundaries for the sweep that comes next, where they vary in time: those of its beginning, and
  // for all sweeps of a longer cycle those of its middle, or of another `share` of its time.
  void update_boundaries(std::optional<double> share = {});
  // Ghosts beyond the boundaries at which `region` ends, but for those that the kernel computes itself.
  void fill_boundaries(const StencilKernel<T>& kernel, Box region);
  void start_exchange() { halo_.start(current_.view(), compute_, halo_stream_); }
  void finish_exchange() { halo_.finish(current_.view(), compute_, halo_stream_); }
  void exchange_source();                // of a coarser grid
  void fill_all_boundaries(Box region);  // whatever a kernel computes itself
  void set_zero();                       // the current field, ghosts included
  // A launch of sweeps of `region` from the current field into the other one, with `stores_faces` into the
  // neighbours' ghosts too; and of the region without `interior`, which was swept before.
  void sweep(const StencilKernel<T>& kernel, SweepPlan plan, Box region, const UpdateNorm& norm,
             bool stores_faces = false);
  void sweep_exterior(const StencilKernel<T>& kernel, SweepPlan plan, Box region, Box interior,
                      const UpdateNorm& norm);
  // The other field becomes the current one, so many sweeps later, which one launch made.
  void advance(int sweeps);
  // The sweep between these two has the unit weight and leaves its result in before(), but where only its norm
  // is wanted: the field stays as it is.
  void begin_probe(bool norm_alone) {
    probes_ = true;
    norm_alone_ = norm_alone;
  }
  void end_probe();
  // A graph was launched that took so many sweeps, an even number of launches.
  void advance_by_graph(std::int64_t sweeps, bool has_before);
  // `copied`: when the copy of the current field is complete. The sweep that overwrites it waits.
  void protect_until(Event copied) { copying_ = {copied, sweeps_}; }
  void wait_for_copy(bool at_once = false);
  void synchronize();

  void count_from(std::int64_t sweep) { sweeps_ = sweep; }
  // A part of a cycle, from `time` on, of `dt` s, is a step of its own, whose sweeps are counted from 0.
  // After the last the cycle has ended at that sweep.
  void begin_part(double time, double dt);
  void end_parts(std::int64_t sweep);
  // Of a grid on which an implicit step is solved: steps of another length from here on.
  void use_implicit_dt(double dt, bool coarsest);

  // The current field in host memory; waits for the device. Valid until the next sweep.
  FieldView<const T> host_field();
  // Its cells of `boxes` alone, in indices of the block, dense, one box after another; nothing else is moved
  // while they are few. Collective, with boxes of each rank's own, which may be none.
  std::vector<T> host_cells(const std::vector<Box>& boxes);

 private:
  struct Setup {
    Method method;
    bool time_halos = false, has_source = false;
    std::optional<Stream> compute;
  };
  Level(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
        Device& device, const Setup& setup);
  SweepArgs<T> sweep_args(Box region, const UpdateNorm& norm);
  void use(const Method& method);

  Config config_;
  Method method_;
  Decomposition decomposition_;
  Communicator communicator_;
  Device& device_;
  Box subdomain_;
  GhostSides sides_;
  Field<T> current_, next_;
  std::optional<Field<T>> source_;
  BoundaryConditions<T> boundaries_;
  HaloExchange<T> halo_;
  std::unique_ptr<Device> host_;
  std::optional<Field<T>> mirror_;           // of a device's field, in host memory
  std::int64_t mirrored_ = -1;               // the sweep of which mirror_ holds the field
  Buffer packed_;                            // of the device: cells on their way to the host
  std::optional<Owned<Stream>> own_stream_;  // none of a coarser grid
  Stream compute_;
  Owned<Stream> halo_stream_;
  std::vector<Coefficients<T>> coefficients_;  // of each sweep of a cycle
  Coefficients<T> unit_;
  bool probes_ = false, norm_alone_ = false;
  double dt_ = 0;
  struct Part {
    double time, dt;  // s
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
