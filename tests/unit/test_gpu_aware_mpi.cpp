#include "halo/gpu_aware_mpi.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

constexpr const char* open_mpi = "Open MPI v5.0.7";
constexpr const char* cray = "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)";

TEST(GpuAwareMpi, TakesMpiAtItsWord) {
  EXPECT_EQ(judge_device_memory(true, open_mpi, ""), "");
  EXPECT_EQ(judge_device_memory(false, open_mpi, ""),
            "Open MPI v5.0.7 says that it was built without CUDA, or runs without it; use one that has it");
}

TEST(GpuAwareMpi, IsNeverAGuess) {
  EXPECT_EQ(judge_device_memory(std::nullopt, "Some MPI 1.0", "1"),
            "Some MPI 1.0 has no query that says whether it takes device memory; build with an Open MPI or "
            "an MPICH "
            "(4.0 or later) that knows CUDA");
}

TEST(GpuAwareMpi, CrayMpichHasASwitch) {
  const std::string off = "the GPU support of " + std::string(cray) +
                          " is off; set MPICH_GPU_SUPPORT_ENABLED=1, in a program that was built with the "
                          "accelerator's module loaded";
  for (const char* value : {"", "0", "yes"}) {
    EXPECT_EQ(judge_device_memory(std::nullopt, cray, value), off);
    EXPECT_EQ(judge_device_memory(true, cray, value), off);
  }
  EXPECT_EQ(judge_device_memory(std::nullopt, cray, "1"), "");
  EXPECT_EQ(judge_device_memory(true, cray, "1"), "");
  EXPECT_NE(judge_device_memory(false, cray, "1"), "");
}

TEST(GpuAwareMpi, CannotBeAskedBeforeMpiHasStarted) {
  EXPECT_EQ(why_mpi_takes_no_device_memory(),
            "MPI can be asked only when it has started; isotherm check does, where the deck names this row");
}

}  // namespace
}  // namespace isotherm
