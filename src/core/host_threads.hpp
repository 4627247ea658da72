// How many threads this rank uses on its host.
//
// OMP_NUM_THREADS, where it holds a usable number, decides. Unset, the cores of the host are shared among its
// ranks: a core in the affinity masks of k ranks counts 1/k to each, so that ranks bound to disjoint cores
// keep their mask, ranks that share a mask divide it, and everything between comes out right. A cgroup's
// quota is divided likewise. The share is rounded down, at least 1: uneven threads on even blocks would only
// wait for the slowest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/communicator.hpp"

namespace isotherm {

struct ThreadPlan {
  int threads = 1;
  std::string note;     // for the banner: "2 threads (4 cores shared by 2 ranks)"
  std::string warning;  // or empty: what is wrong with OMP_NUM_THREADS, or that ranks are more than cores
};

// What this process sees of its host.
struct HostCores {
  int online = 1;               // logical cores that are on
  std::vector<int> mask;        // those this process may run on, ascending
  std::optional<double> quota;  // cores' worth of time that the cgroup grants; none: no limit
};
HostCores find_host_cores();

// `masks` of all ranks of the host by their rank there; `omp_num_threads` null: unset. Pure.
ThreadPlan plan_threads(const HostCores& cores, const std::vector<std::vector<int>>& masks, int rank_on_host,
                        const char* omp_num_threads);
// Collective over the ranks of one host (Communicator::split_by_host); reads the environment.
ThreadPlan plan_threads(const Communicator& host);

void use_threads(int threads);  // for the parallel regions of this process

}  // namespace isotherm
