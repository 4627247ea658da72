// V cycles over the grid of a body of several materials and coarser ones by semicoarsening
// (kernels/semicoarsening.hpp): each has half the cells along the axis of the strongest coupling, down to one
// cell. Axes follow from exact sums of conductances over the whole grid, formulas are local and in fixed
// order: the same bits by any kernel, backend, rank count and process grid. A coarse cell is the rank's that
// has it on the finer grid; small grids every rank has whole, as in Multigrid.
#pragma once

#include <memory>
#include <vector>

#include "solver/conductance_grid.hpp"
#include "solver/multigrid.hpp"
#include "solver/step.hpp"

namespace isotherm {

template <class T>
class MaterialMultigrid : public WholeCycle {
 public:
  // The step outlives it. Collective. Throws CollectiveError where a rank has but one layer of cells.
  explicit MaterialMultigrid(Step<T>& finest);
  ~MaterialMultigrid() override;

  void take(bool from_the_start) override;
  std::vector<TimedGrid> timed() override;
  void time_phases() override;

 private:
  struct Coarse;
  ConductanceGrid<T>& grid(std::size_t i);
  FineConductances<T> conductances(std::size_t i);
  Box block(std::size_t i) { return i == 0 ? finest_.level().whole() : grid(i).whole(); }
  Field<T>& other(std::size_t i) { return i == 0 ? finest_.level().other() : grid(i).other(); }
  template <class Work>
  void timed(std::size_t i, Phase phase, const Work& work);

  const Decomposition& decomposition(std::size_t i) {
    return i == 0 ? finest_.level().decomposition() : grid(i).decomposition();
  }
  Box subdomain(std::size_t i) { return i == 0 ? finest_.level().subdomain() : grid(i).subdomain(); }

  void check_blocks() const;
  int axis_below(std::size_t i);
  void add_grid(std::size_t fine, int axis);
  void find_faces(std::size_t fine, int along);
  void exchange_other(std::size_t i);
  void find_residual(std::size_t i);
  void restrict_to(std::size_t coarse);
  void prolong_from(std::size_t coarse);
  void v_cycle(std::size_t i);
  bool can_be_recorded();

  Step<T>& finest_;
  Communicator self_;
  std::vector<T> weights_;                       // of the sweeps on a coarse grid
  std::vector<std::unique_ptr<Coarse>> coarse_;  // the finest of them first
  RecordedSweeps<T> v_cycle_;
  bool records_ = false;
};

// Bytes of all coarse grids of a rank, as if of one material: others differ in shape, not in cells.
std::size_t material_coarse_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                  Backend backend);

}  // namespace isotherm
