// `isotherm list`: what this binary can do on this machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_resources.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The rows of all tables, what they take of a device, transports, devices.
std::string list_text();

// The same for scripts, without what rows take of a device. Keys are only added.
std::string list_json();

// `why_no_gpu`: why CUDA rows that were built run nowhere; empty where a CUDA device is the current one,
// which the rows are then asked about.
std::string stencil_table(std::span<const StencilKernel<double>> rows, const std::string& why_no_gpu);
// The policies in each precision of the rows in this build; both tables hold the same rows.
std::string policy_table(std::span<const StencilKernel<float>> fp32,
                         std::span<const StencilKernel<double>> fp64);

// A CUDA row in one precision, launched by its first policy.
struct ResourceLine {
  std::string name, precision, policy;
  KernelResources resources;
};
std::string resource_table(const std::vector<ResourceLine>& lines);

}  // namespace isotherm
