// V cycles over a grid of a body of several materials and coarser ones by semicoarsening
// (kernels/semicoarsening.hpp): each has half the cells along the axis of the strongest coupling, down to one
// cell. Axes follow from exact sums of conductances over the whole grid, formulas are local and in fixed
// order: the same bits by any kernel, backend, rank count and process grid. A coarse cell is the rank's that
// has it on the finer grid; small grids every rank has whole, as in Multigrid.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "solver/conductance_grid.hpp"
#include "solver/multigrid.hpp"

namespace isotherm {

class MaterialMultigrid {
 public:
  // Puts conductances of the body's cells into the box of a field, as Semicoarsening::take_conductances.
  using OfBody = std::function<void(int along, bool above, FieldView<float> to, Box cells)>;

  // Work is queued on `compute`; what is passed outlives it. Collective. Throws CollectiveError where a rank
  // has but one layer of cells.
  MaterialMultigrid(const Config& config, const Decomposition& decomposition,
                    const Communicator& communicator, Device& device, bool has_ground, Stream compute,
                    OfBody of_body);
  ~MaterialMultigrid();

  // The grid of the body's cells. A cycle takes its source, and leaves the correction in its current field.
  ConductanceGrid& finest() { return grid(0); }
  void v_cycle();
  // Anew, of all grids, where the body's have changed.
  void take_ground();
  void take_faces();  // along axes whose boundaries have coefficients that use t

  std::vector<TimedGrid> timed();  // the finest first
  void time_phases();

 private:
  struct Grid;
  ConductanceGrid& grid(std::size_t i);
  void check_blocks() const;
  int axis_below(std::size_t i);
  void add_finest();
  void add_grid(std::size_t fine, int axis);
  void find_conductances(std::size_t i, int along);
  void restrict_to(std::size_t i);
  void prolong_from(std::size_t i);
  void cycle(std::size_t i);
  bool can_be_recorded();

  const Config& config_;
  Decomposition decomposition_;
  Communicator communicator_, self_;
  Device& device_;
  bool has_ground_, times_phases_ = false;
  Stream compute_;
  OfBody of_body_;
  const Semicoarsening<float>& kernels_;
  std::vector<std::vector<float>> weights_;  // of the sweeps before a correction, and after it
  std::vector<std::unique_ptr<Grid>> grids_;
  std::optional<Owned<Graph>> graph_;
};

// Has a cell more than faces?
bool has_ground(const Config& config);
// Bytes of all grids of a rank, as if of one material: others differ in shape, not in cells.
std::size_t material_grid_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                Backend backend);

}  // namespace isotherm
