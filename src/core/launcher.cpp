#include "core/launcher.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace isotherm {

// Open MPI, PMIx, MPICH and its kin, Slurm.
bool environment_names_launcher() {
  return std::ranges::any_of(std::array{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"},
                             [](const char* name) {
                               const char* value = std::getenv(name);
                               return value && *value;
                             });
}

bool is_under_launcher() {
  static const bool first_answer = environment_names_launcher();
  return first_answer;
}

}  // namespace isotherm
