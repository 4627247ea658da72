// The communicators of NCCL. To make one and to let two of its ranks meet takes some tenths of a second, so a
// process keeps what it has made: whoever asks for the same ranks with the same GPUs shares one, and what was
// set up between two of them stays.
#pragma once

#include <nccl.h>

#include <memory>
#include <set>
#include <span>
#include <type_traits>
#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/error.hpp"

namespace isotherm {

// NCCL knows no tags: what goes from one rank to another meets in the order in which both post it.
struct NcclPost {
  int peer;
  void* data;
  std::size_t bytes;
};
struct NcclGroup {
  std::vector<NcclPost> sends, receives;
};

// All calls but the constructor's are of one rank. Failures throw Error.
class NcclRanks {
 public:
  // Collective; `device` is this rank's own.
  NcclRanks(Device& device, const Communicator& communicator);

  // Given up by all who share it. Graphs that hold its groups must not be launched any more.
  void abort() noexcept { comm_.reset(); }
  bool aborted() const { return !comm_; }
  bool usable() const;  // neither given up nor failed

  // Those that have not met this rank do it now; they call it too.
  void meet(Device& device, std::set<int> peers);
  void exchange(const NcclGroup& group, Stream stream) const;  // between ranks that have met; queued
  // What NCCL's own threads have run into. A flag that is read, no call of CUDA.
  void check() const;

 private:
  void refuse_aborted() const;

  // Where nothing is under way, to abort is to destroy without waiting for the others.
  struct Abort {
    void operator()(ncclComm_t comm) const noexcept;
  };
  std::unique_ptr<std::remove_pointer_t<ncclComm_t>, Abort> comm_;
  std::set<int> met_;
};

// Collective: made by the first who asks, and again where it is not usable at any of them. Kept until MPI
// ends. Throws, on all ranks alike, where two ranks have one GPU, which NCCL does not allow, where NCCL
// fails, and where it does not come back in time.
std::shared_ptr<NcclRanks> shared_nccl_ranks(Device& device, const Communicator& communicator);

}  // namespace isotherm
