// The emulated GPU's memory is the host's: every MPI takes it. This query comes before the library's own.
extern "C" int MPIX_Query_cuda_support() {
  return 1;
}
