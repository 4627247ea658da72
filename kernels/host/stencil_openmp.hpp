// The row `openmp` with the kind of store left to the caller, who need not have fields of that size: for
// tests.
#pragma once

#include "kernels/host/rows.hpp"

namespace isotherm::host {

template <class Isa, class T>
void sweep_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store);

}  // namespace isotherm::host
