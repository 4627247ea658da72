// A formula of the deck at the points of a box of cells, or of a face, evaluated where a field lives. Parts
// of it that hold no place are computed once for a time, and on a face those that hold no time once.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "kernels/formula.hpp"

namespace isotherm {

// Of an axis of the values: which of x, y, z it is, and the coordinates, m.
struct FormulaAxis {
  int variable;
  std::vector<double> at;
};
// At the centres of these global cells.
std::array<FormulaAxis, 3> cell_axes(const Config& config, Box subdomain);

template <class T>
class FormulaValues {
 public:
  // `axes`: from the fastest on. Values are `scale` times the formula, at least `lowest`. `formula` is not a
  // plain number. Of a face, parts that hold no time are kept for its points. `device` must outlive this.
  FormulaValues(Device& device, const Expression& formula, const std::array<FormulaAxis, 3>& axes,
                double scale, double lowest, bool is_face = false)
      : FormulaValues(device, *formula.program(), axes, scale, lowest, is_face) {}
  FormulaValues(Device& device, FormulaProgram program, const std::array<FormulaAxis, 3>& axes, double scale,
                double lowest, bool is_face);

  // Those of the points in `box`, by their places along the axes, at each of at most
  // FormulaGrid<T>::most_times times, s. Element pitches of `values`, the device's memory.
  struct Target {
    T* values;
    Index pitch_y, pitch_z, pitch_time;
  };
  void evaluate(Box box, std::span<const double> times, const Target& target, Stream stream);
  // The earliest time at which a value was not is_sound(), as far as the device has come.
  std::optional<double> unsound_at() const;

 private:
  Device* device_;
  FormulaGrid<T> grid_{};
  std::array<Buffer, 3> at_;
  Int3 points_;  // along the axes
  std::vector<FormulaProgram> of_time_;
  std::vector<Buffer> of_place_;
  Buffer steps_, unsound_;
};

}  // namespace isotherm
