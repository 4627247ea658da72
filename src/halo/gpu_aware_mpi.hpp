// Does this MPI read and write per GPU's memory? A library that does not crashes at the first pointer into
// it, and that cannot be caught: so MPI is asked first, and never taken at a guess. The probe proves the
// answer later.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace isotherm {

// Empty: it does. Else why not, and what to do. Not collective.
std::string why_mpi_takes_no_device_memory();

// From what MPI itself says (none: it cannot be asked), the library's version text and the value of
// MPICH_GPU_SUPPORT_ENABLED ("" where it is not set), which in Cray MPICH is a switch that its users have to
// set.
std::string judge_device_memory(std::optional<bool> answer, const std::string& library,
                                std::string_view cray_switch);

}  // namespace isotherm
