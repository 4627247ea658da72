// `isotherm list`: what this binary can do on this machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_resources.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// `width`: of the terminal that it is for, if it is for one.
std::string list_text(std::optional<int> width = std::nullopt);  // the rows of all tables, what they take of
                                                                 // a device, transports, devices

// The same for scripts, without what rows take of a device. Keys are only added.
std::string list_json();

// `why_no_gpu`: why CUDA rows that were built run nowhere; empty where a CUDA device is the current one,
// which the rows are then asked about.
std::string stencil_table(std::span<const StencilKernel<double>> rows, const std::string& why_no_gpu,
                          std::optional<int> width = std::nullopt);
// The policies in each precision of the rows in this build; both tables hold the same rows.
std::string policy_table(std::span<const StencilKernel<float>> fp32,
                         std::span<const StencilKernel<double>> fp64,
                         std::optional<int> width = std::nullopt);

// A CUDA row in one precision, launched by its first policy.
struct ResourceLine {
  std::string name, precision, policy;
  KernelResources resources;
};
std::string resource_table(const std::vector<ResourceLine>& lines, std::optional<int> width = std::nullopt);

}  // namespace isotherm
