/* Preloaded by test_ranks.py: faults of one rank of a job, or of its MPI library.
   ISOTHERM_THREAD_LEVEL=n      MPI says that it provides level n (0: MPI_THREAD_SINGLE, 1: MPI_THREAD_FUNNELED)
   ISOTHERM_NO_MEMORY="rank:n"  on that rank aligned allocations of n bytes or more fail */
#include "shim.h"

/* The shim must build without an mpi.h. */
static void spoil(int* provided) {
  const char* level = getenv("ISOTHERM_THREAD_LEVEL");
  if (level) *provided = atoi(level);
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = REAL(MPI_Init_thread)(argc, argv, required, provided);
  spoil(provided);
  return result;
}
int MPI_Query_thread(int* provided) {
  const int result = REAL(MPI_Query_thread)(provided);
  spoil(provided);
  return result;
}

void* aligned_alloc(size_t alignment, size_t size) {
  const char* text = getenv("ISOTHERM_NO_MEMORY");
  int rank = -1;
  size_t least = 0;
  if (text && sscanf(text, "%d:%zu", &rank, &least) == 2 && rank == rank_of_this_process() && size >= least) {
    errno = ENOMEM;
    return NULL;
  }
  return REAL(aligned_alloc)(alignment, size);
}
