/* Preloaded by tests: an MPI with faulty or slow halos, which alone use persistent messages.
   ISOTHERM_HALO_FAULT="rank:zeros"  what that rank sends arrives as zeros
   ISOTHERM_HALO_FAULT="rank:lost"   what that rank sends never arrives
   ISOTHERM_HALO_FAULT="rank:late"   that rank sleeps 5 ms before each message, and 20 ms before each all-reduce, even of one rank
   Rank -1 stands for every rank. */
#include "shim.h"

/* MPI handles are pointers or integers; a pointer can pass both. The shim must build without mpi.h. */
static int is_fault_of_this_rank(const char* name) {
  const char* text = getenv("ISOTHERM_HALO_FAULT");
  char fault[8] = "";
  int rank = 0;
  if (!text || sscanf(text, "%d:%7s", &rank, fault) != 2 || strcmp(fault, name) != 0) return 0;
  return rank == -1 || rank == rank_of_this_process();
}

int MPI_Send_init(const void* data, int count, void* type, int peer, int tag, void* comm, void* request) {
  if (is_fault_of_this_rank("zeros")) data = calloc((size_t)count, 1); /* enough for any type; never freed */
  if (is_fault_of_this_rank("lost")) tag += 1000; /* no receive matches it */
  return REAL(MPI_Send_init)(data, count, type, peer, tag, comm, request);
}

int MPI_Start(void* request) {
  if (is_fault_of_this_rank("late")) usleep(5000);
  return REAL(MPI_Start)(request);
}

int MPI_Allreduce(const void* mine, void* all, int count, void* type, void* op, void* comm) {
  if (is_fault_of_this_rank("late")) usleep(20000);
  return REAL(MPI_Allreduce)(mine, all, count, type, op, comm);
}
