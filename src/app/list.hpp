// `isotherm list`: what this binary can do on this machine.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel_resources.hpp"

namespace isotherm {

std::string list_text();  // stencil rows, reduction rows, transports, devices

// A CUDA row in one precision, launched by its first policy.
struct ResourceLine {
  std::string name, precision, policy;
  KernelResources resources;
};
std::string resource_table(const std::vector<ResourceLine>& lines);

}  // namespace isotherm
