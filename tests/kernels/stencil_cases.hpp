// What tests of stencil rows share: the rows as their table has them, with every policy on its device.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/stencil.hpp"
#include "support.hpp"

namespace isotherm::test {

// One case for each row that is a row here, in each precision: the instruction sets of a row share what these
// tests look at.
inline std::vector<RowCase> stencil_cases(Backend backend) {
  std::vector<RowCase> all = cases_of(stencil_kernels<double>(), backend);
  std::erase_if(all, [](const RowCase& c) { return !c.instruction_set.empty(); });
  return all;
}

// Calls use(row, device), with the row of the case's precision; skips the test where there is no device.
template <class Use>
void on_stencil_row(const RowCase& c, const Use& use) {
  const auto device = device_of(c.backend);
  if (!device) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
  for_precision(c.precision, [&](auto zero) {
    const StencilKernel<decltype(zero)>& row = row_named(stencil_kernels<decltype(zero)>(), c.row);
    use(row, *device);
  });
}

// The policies to look at: of the paces of one tile ("2x4x8x4@84") the first, as all are one kernel, which
// waits longer or shorter.
template <class T>
std::vector<int> policies_of(const StencilKernel<T>& row) {
  std::vector<int> chosen;
  std::vector<std::string_view> seen;
  for (int policy = 0; policy < std::ssize(row.policies); ++policy) {
    const std::string_view name = row.policies[static_cast<std::size_t>(policy)];
    const std::size_t at = name.find('@');
    const std::string_view kernel = name.substr(0, at == name.npos ? at : at + 1);
    if (std::find(seen.begin(), seen.end(), kernel) != seen.end()) continue;
    seen.push_back(kernel);
    chosen.push_back(policy);
  }
  return chosen;
}

// Calls use(row, policy, device, shape) for every such policy and shape.
template <class Use>
void on_every_policy(const RowCase& c, const std::vector<Int3>& on_shapes, const Use& use) {
  on_stencil_row(c, [&](const auto& row, Device& device) {
    for (const int policy : policies_of(row)) {
      for (const Int3 shape : on_shapes) {
        SCOPED_TRACE(text(shape) + ", policy " + std::string(row.policies[static_cast<std::size_t>(policy)]));
        use(row, policy, device, shape);
      }
    }
  });
}

}  // namespace isotherm::test
