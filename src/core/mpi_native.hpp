// The MPI side of Communicator. Only core/communicator.cpp, halo/, output/ and app/bench/hypre.cpp include
// this.
#pragma once

#include <mpi.h>

#include "core/communicator.hpp"

namespace isotherm {

struct Communicator::Native {
  MPI_Comm comm = MPI_COMM_NULL;
  bool owned = false;
  ~Native();
};

// Throws Error(internal) that names the call, MPI's own text and the rank. Use as check_mpi(MPI_Send(...),
// "MPI_Send").
void check_mpi(int code, const char* call);

}  // namespace isotherm
