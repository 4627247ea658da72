// Whether a launcher, such as mpirun or srun, started this process.
#pragma once

namespace isotherm {

// By the variables that launchers set for their ranks, as they stand now.
bool environment_names_launcher();

// The same, as it was when first asked: before MPI_Init, which may set such a variable in a process that
// nobody launched (Open MPI 4: PMIX_RANK). MpiSession asks.
bool is_under_launcher();

}  // namespace isotherm
