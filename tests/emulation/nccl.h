// Stands in for the part of NCCL that isotherm calls: groups of messages over MPI, as work of the stream. As
// with NCCL, messages between a pair of ranks match in the order in which they are posted, and their lengths
// must agree. MPI is single-threaded here, so the host itself exchanges them, after all queued work; a caller
// that uses another thread waits for it. If a peer does not answer, the device waits until it is aborted, as
// NCCL's kernel would.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"

enum ncclResult_t { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidUsage = 5 };
enum ncclDataType_t { ncclChar = 0 };
struct ncclUniqueId {
  char internal[128];
};
struct ncclComm {
  int tag = 0;  // distinguishes the communicators
  std::atomic<ncclResult_t> error = ncclSuccess;
  std::atomic<bool> aborted = false;
};
using ncclComm_t = ncclComm*;

namespace emulation {

struct Operation {
  bool is_send;
  void* data;
  std::size_t bytes;
  int peer;
  ncclComm_t comm;
  cudaStream_t stream;
};
inline thread_local std::vector<Operation> group;
inline int ids = 0;
// Kept when a communicator is aborted: the device may still use it.
inline std::deque<ncclComm> communicators;
inline constexpr std::chrono::seconds host_patience{4};

// A duplicate of MPI_COMM_WORLD, so that no other message matches. Its first call is collective.
inline MPI_Comm own_world() {
  static MPI_Comm comm = MPI_COMM_NULL;
  if (comm == MPI_COMM_NULL) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm;
}

// Sends stay pending, but no receive matches them: no other communicator has their tag.
inline void drop(const std::vector<Operation>& operations, std::vector<MPI_Request>& requests) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (!operations[i].is_send) MPI_Cancel(&requests[i]);
    MPI_Request_free(&requests[i]);
  }
}

// Exchanges all at once; a peer that does not answer blocks the stream.
inline ncclResult_t exchange_all(const std::vector<Operation>& operations) {
  std::vector<MPI_Request> requests(operations.size());
  std::vector<MPI_Status> statuses(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& o = operations[i];
    const int count = static_cast<int>(o.bytes);
    if (o.is_send) {
      MPI_Isend(o.data, count, MPI_BYTE, o.peer, o.comm->tag, own_world(), &requests[i]);
    } else {
      MPI_Irecv(o.data, count, MPI_BYTE, o.peer, o.comm->tag, own_world(), &requests[i]);
    }
  }
  const auto end = std::chrono::steady_clock::now() + host_patience;
  for (int done = 0; !done;) {
    if (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data()) !=
        MPI_SUCCESS) {
      return ncclInvalidUsage;
    }
    if (done || std::chrono::steady_clock::now() < end) continue;
    drop(operations, requests);
    queue(operations.front().stream, [comm = operations.front().comm] {
      while (!comm->aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    return ncclSuccess;
  }
  // Lengths must agree: MPI itself reports only messages that are too long.
  for (std::size_t i = 0; i < operations.size(); ++i) {
    int received = 0;
    MPI_Get_count(&statuses[i], MPI_BYTE, &received);
    if (!operations[i].is_send && static_cast<std::size_t>(received) != operations[i].bytes)
      return ncclInvalidUsage;
  }
  return ncclSuccess;
}

}  // namespace emulation

inline const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : result == ncclInvalidUsage ? "invalid usage" : "system error";
}
inline const char* ncclGetLastError(ncclComm_t) { return ""; }

inline ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  ++emulation::ids;
  std::memcpy(id->internal, &emulation::ids, sizeof(emulation::ids));
  return ncclSuccess;
}
inline ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  int world_size = 0, world_rank = 0;
  MPI_Comm_size(emulation::own_world(), &world_size);
  MPI_Comm_rank(emulation::own_world(), &world_rank);
  if (ranks != world_size || rank != world_rank) return ncclSystemError;  // not emulated
  *comm = &emulation::communicators.emplace_back();
  std::memcpy(&(*comm)->tag, id.internal, sizeof((*comm)->tag));
  return ncclSuccess;
}
inline ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->aborted = true;
  return ncclSuccess;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->error;
  return ncclSuccess;
}

inline ncclResult_t ncclGroupStart() { return emulation::group.empty() ? ncclSuccess : ncclInvalidUsage; }
inline ncclResult_t ncclGroupEnd() {
  const std::vector<emulation::Operation> operations = std::exchange(emulation::group, {});
  if (operations.empty()) return ncclSuccess;
  const auto exchange = [operations] {
    const ncclResult_t result = emulation::exchange_all(operations);
    if (result != ncclSuccess) operations.front().comm->error = result;
  };
  emulation::queue(operations.front().stream, exchange, true);
  return ncclSuccess;
}
inline ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                             cudaStream_t stream) {
  emulation::group.push_back({true, const_cast<void*>(data), count, peer, comm, stream});
  return ncclSuccess;
}
inline ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                             cudaStream_t stream) {
  emulation::group.push_back({false, data, count, peer, comm, stream});
  return ncclSuccess;
}
