// Evaluates a formula of the deck at the points of a box of cells or of a face, on the device of the field.
// Parts without a position are computed once for each time; on a face, parts without the time once.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "kernels/formula.hpp"

namespace isotherm {

// One axis of the points: which of x, y, z it is, and the coordinates, m.
struct FormulaAxis {
  int variable;
  std::vector<double> at;
};
// The axes of the centres of these global cells.
std::array<FormulaAxis, 3> cell_axes(const Config& config, Box subdomain);

template <class T>
class FormulaValues {
 public:
  // `axes`: the fastest first. Values: `scale` times the formula, sound from `lowest` on. `formula` is not a
  // plain number. On a face, parts without the time are stored. `device` must outlive this object.
  FormulaValues(Device& device, const Expression& formula, const std::array<FormulaAxis, 3>& axes,
                double scale, double lowest, bool is_face = false)
      : FormulaValues(device, *formula.program(), axes, scale, lowest, is_face) {}
  FormulaValues(Device& device, FormulaProgram program, const std::array<FormulaAxis, 3>& axes, double scale,
                double lowest, bool is_face);

  // Stores the values at the points of `box`, which are indices along the axes, at each of at most
  // FormulaGrid<T>::most_times times, s. Pitches are in elements of `values`, in the device's memory.
  struct Target {
    T* values;
    Index pitch_y, pitch_z, pitch_time;
  };
  void evaluate(Box box, std::span<const double> times, const Target& target, Stream stream);
  // The earliest time at which a value was not is_sound(), of the values computed so far.
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
