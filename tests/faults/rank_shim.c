/* Preloaded by tests: faults of one rank of a job (-1: of every rank), or of its MPI library. Only halos use
   persistent messages.
   ISOTHERM_THREAD_LEVEL=n           MPI provides level n (0: MPI_THREAD_SINGLE, 1: MPI_THREAD_FUNNELED)
   ISOTHERM_NO_MEMORY="rank:n"       on that rank aligned allocations of n bytes or more fail
   ISOTHERM_HALO_FAULT="rank:zeros"  the messages of that rank arrive as zeros
   ISOTHERM_HALO_FAULT="rank:lost"   the messages of that rank never arrive
   ISOTHERM_HALO_FAULT="rank:late"   that rank sleeps 5 ms before each message, and 20 ms before each
                                     all-reduce, even of one rank */
#include "shim.h"

/* The fault in this variable if it is for this rank, or null. */
static const char* fault_of_this_rank(const char* variable) {
  const char *text = getenv(variable), *colon = text ? strchr(text, ':') : NULL;
  return colon && (atoi(text) == -1 || atoi(text) == rank_of_this_process()) ? colon + 1 : NULL;
}

static int is_halo_fault(const char* name) {
  const char* fault = fault_of_this_rank("ISOTHERM_HALO_FAULT");
  return fault && strcmp(fault, name) == 0;
}

void* aligned_alloc(size_t alignment, size_t size) {
  const char* least = fault_of_this_rank("ISOTHERM_NO_MEMORY");
  if (!least || size < strtoul(least, NULL, 10)) return REAL(aligned_alloc)(alignment, size);
  errno = ENOMEM;
  return NULL;
}

/* MPI handles are pointers or integers; a pointer can pass both. The shim must build without mpi.h. */
int MPI_Send_init(const void* data, int count, void* type, int peer, int tag, void* comm, void* request) {
  if (is_halo_fault("zeros")) data = calloc((size_t)count, 1); /* enough for any type; never freed */
  if (is_halo_fault("lost")) tag += 1000;                      /* no receive matches it */
  return REAL(MPI_Send_init)(data, count, type, peer, tag, comm, request);
}

int MPI_Start(void* request) {
  if (is_halo_fault("late")) usleep(5000);
  return REAL(MPI_Start)(request);
}

int MPI_Allreduce(const void* mine, void* all, int count, void* type, void* op, void* comm) {
  if (is_halo_fault("late")) usleep(20000);
  return REAL(MPI_Allreduce)(mine, all, count, type, op, comm);
}

static int with_level(int result, int* provided) {
  const char* level = getenv("ISOTHERM_THREAD_LEVEL");
  if (level) *provided = atoi(level);
  return result;
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return with_level(REAL(MPI_Init_thread)(argc, argv, required, provided), provided);
}
int MPI_Query_thread(int* provided) {
  return with_level(REAL(MPI_Query_thread)(provided), provided);
}
