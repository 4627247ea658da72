// `isotherm list`: what this binary can do on this machine.
#pragma once

#include <string>

namespace isotherm {

std::string list_text();  // stencil rows, reduction rows, transports, devices

}  // namespace isotherm
