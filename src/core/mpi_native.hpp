// The MPI side of Communicator: for core/communicator.cpp, halo/, output/ and app/bench/hypre.cpp alone.
#pragma once

#include <mpi.h>

#include "core/communicator.hpp"

namespace isotherm {

struct Communicator::Native {
  MPI_Comm comm = MPI_COMM_NULL;
  ~Native();
};

// Throws Error(internal) with call, MPI's text and rank. Use as check_mpi(MPI_Send(...), "MPI_Send").
void check_mpi(int code, const char* call);

}  // namespace isotherm
