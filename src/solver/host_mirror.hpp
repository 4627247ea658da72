// The field of a level in host memory: itself on the host, a copy of a device's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "solver/level.hpp"

namespace isotherm {

template <class T>
class HostMirror {
 public:
  explicit HostMirror(Level<T>& level) : level_(level), host_(make_host_of(level.device())) {}

  // Waits for the device. Valid until the next sweep.
  FieldView<const T> field();
  // The cells of `boxes` alone, in indices of the block, dense, one box after another; waits for the device,
  // from which nothing else is moved while they are few. Collective, with boxes of each rank's own, which may
  // be none.
  std::vector<T> cells(const std::vector<Box>& boxes);

 private:
  Level<T>& level_;
  std::unique_ptr<Device> host_;
  std::optional<Field<T>> mirror_;
  std::int64_t mirrored_ = -1;  // the sweep of which mirror_ holds the field
  Buffer packed_;               // of the device: cells on their way to the host
};

}  // namespace isotherm
