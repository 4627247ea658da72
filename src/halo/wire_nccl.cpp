// Packed messages by NCCL. Its calls that wait for other ranks have no time limit. A non-blocking
// communicator would start a thread for every group, and the host would have to wait for it before queueing
// more on the stream. So the communicator blocks; the two calls that wait for others, its creation and the
// first messages between two ranks, run in a thread with a time limit. Later groups are only queued.
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "core/all_or_throw.hpp"
#include "core/cuda_native.hpp"
#include "core/mpi_native.hpp"
#include "core/text.hpp"
#include "halo/packed_transport.hpp"

namespace isotherm {
namespace {

// NCCL has no tags: messages between two ranks are matched in the order in which both post them.
struct NcclGroup {
  std::vector<WireMessage> sends, receives;
};

constexpr double patience = 60;  // s; thousands of ranks take about ten to connect

// NCCL's last error, where there is one, is a sentence that says more than the code.
void check_nccl(ncclResult_t result, const char* call, ncclComm_t comm, ExitCode code) {
  if (result == ncclSuccess) return;
  const char* const last = ncclGetLastError(comm);
  std::string detail = last ? last : "";
  while (!detail.empty() && std::isspace(static_cast<unsigned char>(detail.back()))) detail.pop_back();
  throw error_of(code, "{} failed ({}{}{}); set NCCL_DEBUG=WARN to see more, or use another transport", call,
                 ncclGetErrorString(result), detail.empty() ? "" : ": ", detail);
}

// The result of `work`, executed in its own thread. Work that does not return in time keeps its thread and
// all its resources until the program ends.
template <class Work>
auto in_time(Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(std::chrono::duration<double>(patience)) != std::future_status::ready) {
    thread.detach();
    throw error_of(ExitCode::unavailable, "NCCL did not return within {:.3g} s", patience);
  }
  thread.join();
  return result.get();
}

// A group that was started is always ended, also after an error.
void queue(const NcclGroup& group, ncclComm_t comm, Stream stream, ExitCode code) {
  check_nccl(ncclGroupStart(), "ncclGroupStart", comm, code);
  ncclResult_t posted = ncclSuccess;
  const cudaStream_t native = cuda::native(stream);
  for (const WireMessage& m : group.sends)
    if (posted == ncclSuccess) posted = ncclSend(m.send, m.bytes, ncclChar, m.peer, comm, native);
  for (const WireMessage& m : group.receives)
    if (posted == ncclSuccess) posted = ncclRecv(m.receive, m.bytes, ncclChar, m.peer, comm, native);
  const ncclResult_t ended = ncclGroupEnd();
  check_nccl(posted, "ncclSend or ncclRecv", comm, code);
  check_nccl(ended, "ncclGroupEnd", comm, code);
}

// Exchanges a byte with new peers: NCCL then sets up the connections, and waits for the peers.
void open_connections(Device& device, ncclComm_t comm, const std::set<int>& peers) {
  const Owned<Stream> stream = own_stream(device, Priority::high);
  const Buffer bytes(device, 2 * peers.size());
  std::vector<WireMessage> messages;
  for (std::byte* at = bytes.as<std::byte>(); const int peer : peers) {
    messages.push_back({peer, 0, 0, at, at + 1, 1});
    at += 2;
  }
  queue({messages, messages}, comm, stream, ExitCode::unavailable);
  device.synchronize(stream);
}

void check_shared_gpus(const std::vector<std::string>& uuids) {
  std::map<std::string, std::size_t> owner;
  for (std::size_t rank = 0; rank < uuids.size(); ++rank) {
    const auto [first, is_new] = owner.emplace(uuids[rank], rank);
    if (is_new) continue;
    throw error_of(
        ExitCode::unavailable,
        "ranks {} and {} share {}, which NCCL does not allow; start one rank a GPU, or use another transport",
        first->second, rank, uuids[rank]);
  }
}

ncclUniqueId common_id(const Communicator& communicator) {
  ncclUniqueId id{};
  on_root(communicator,
          [&] { check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId", nullptr, ExitCode::unavailable); });
  const std::string bytes = communicator.broadcast(std::string(id.internal, sizeof(id.internal)));
  std::copy(bytes.begin(), bytes.end(), id.internal);
  return id;
}

// An NCCL communicator. Only the constructor is collective. Failures throw Error.
class NcclRanks {
 public:
  // Collective; `device` is this rank's own.
  NcclRanks(Device& device, const Communicator& communicator) {
    const ncclUniqueId id = common_id(communicator);
    const int rank = communicator.rank(), ranks = communicator.size();
    all_or_throw(communicator, [&] {
      comm_.reset(in_time([&device, id, rank, ranks] {
        const Owned<Stream> stream = own_stream(device, Priority::normal);  // sets this thread's device
        ncclComm_t comm = nullptr;
        check_nccl(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank", nullptr,
                   ExitCode::unavailable);
        return comm;
      }));
    });
  }

  // Abandons it for all its users. Graphs that contain its groups must not be launched any more.
  void abort() noexcept { comm_.reset(); }
  bool aborted() const { return !comm_; }
  bool usable() const {  // neither aborted nor failed
    ncclResult_t found = ncclSuccess;
    return comm_ && ncclCommGetAsyncError(comm_.get(), &found) == ncclSuccess && found == ncclSuccess;
  }

  // Connects this rank to those peers that are new; they call it too.
  void meet(Device& device, std::set<int> peers) {
    check_aborted();
    std::erase_if(peers, [&](int peer) { return met_.contains(peer); });
    if (peers.empty()) return;
    try {
      in_time([&device, comm = comm_.get(), peers] { open_connections(device, comm, peers); });
    } catch (...) {
      abort();
      throw;
    }
    met_.merge(peers);
  }
  void exchange(const NcclGroup& group, Stream stream) const {  // between connected ranks; queued
    check_aborted();
    queue(group, comm_.get(), stream, ExitCode::internal);
  }
  // Throws errors of NCCL's own threads. Reads a flag, without a call of CUDA.
  void check() const {
    check_aborted();
    ncclResult_t found = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(comm_.get(), &found), "ncclCommGetAsyncError", comm_.get(),
               ExitCode::internal);
    check_nccl(found, "NCCL", comm_.get(), ExitCode::internal);
  }

 private:
  void check_aborted() const {
    if (aborted()) throw Error(ExitCode::internal, "NCCL was given up before; use another transport");
  }

  // If nothing is in progress, an abort destroys the communicator without waiting for the others.
  struct Abort {
    void operator()(ncclComm_t comm) const noexcept {
      try {
        in_time([comm] { return ncclCommAbort(comm); });
      } catch (const std::exception&) {  // nothing else can end it
      }
    }
  };
  std::unique_ptr<std::remove_pointer_t<ncclComm_t>, Abort> comm_;
  std::set<int> met_;
};

// The open communicators of this process, by ranks and GPUs. MPI_Finalize first deletes the attributes of
// MPI_COMM_SELF (MPI 3.1, section 8.7.1): at that time no user is left, and devices and MPI still work.
using OpenRanks = std::map<std::vector<std::string>, std::shared_ptr<NcclRanks>>;

int close_all(MPI_Comm, int, void* open, void*) {
  delete static_cast<OpenRanks*>(open);
  return MPI_SUCCESS;
}

OpenRanks& open_ranks() {
  static OpenRanks* const open = [] {
    int key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_all, &key, nullptr),
              "MPI_Comm_create_keyval");
    auto none = std::make_unique<OpenRanks>();
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, none.get()), "MPI_Comm_set_attr");
    OpenRanks* const kept = none.release();
    check_mpi(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");  // when the attribute is deleted
    return kept;
  }();
  return *open;
}

// The world rank and the GPU of each rank of this communicator.
std::vector<std::string> ranks_and_gpus(const Communicator& communicator, const std::string& uuid) {
  int world_rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank), "MPI_Comm_rank");
  return communicator.all_gather(fmt::format("{} {}", world_rank, uuid));
}

// Creating a communicator takes some tenths of a second, so users with the same ranks and GPUs share one.
// Collective: created at the first request, and again where it is unusable on any rank.
std::shared_ptr<NcclRanks> shared_nccl_ranks(Device& device, const Communicator& communicator) {
  check_shared_gpus(communicator.all_gather(device.info().uuid));
  std::shared_ptr<NcclRanks>& ranks = open_ranks()[ranks_and_gpus(communicator, device.info().uuid)];
  if (!communicator.all(ranks && ranks->usable())) {
    ranks.reset();
    ranks = std::make_shared<NcclRanks>(device, communicator);
  }
  return ranks;
}

// Sorts by the sender's tags, so that both sides have the same order: around a periodic axis of two parts
// each rank's first message is the other's second.
NcclGroup group_of(std::span<const WireMessage> messages) {
  NcclGroup group{{messages.begin(), messages.end()}, {messages.begin(), messages.end()}};
  std::ranges::sort(group.sends, {}, [](const WireMessage& m) { return std::pair(m.peer, m.send_tag); });
  std::ranges::sort(group.receives, {},
                    [](const WireMessage& m) { return std::pair(m.peer, m.receive_tag); });
  return group;
}

class NcclWire final : public Wire {
 public:
  NcclWire(std::shared_ptr<NcclRanks> ranks, std::span<const WireMessage> messages)
      : ranks_(std::move(ranks)), group_(group_of(messages)) {}

  void send(Stream stream) override { ranks_->exchange(group_, stream); }
  void receive(Stream) override { ranks_->check(); }
  void abandon() noexcept override { ranks_->abort(); }
  bool recordable() const override { return true; }

 private:
  std::shared_ptr<NcclRanks> ranks_;
  NcclGroup group_;
};

}  // namespace

std::string why_no_nccl(const Device& device) {
  return device.backend() == Backend::host ? "needs a GPU" : "";
}

Wires open_nccl_wires(Device& device, const Communicator& communicator) {
  const std::shared_ptr<NcclRanks> ranks = shared_nccl_ranks(device, communicator);
  const auto make = [&device, ranks](std::span<const WireMessage> messages) {
    std::set<int> peers;
    for (const WireMessage& m : messages) peers.insert(m.peer);
    ranks->meet(device, std::move(peers));
    return std::make_unique<NcclWire>(ranks, messages);
  };
  const auto why_broken = [ranks]() -> std::string {
    return ranks->aborted() ? "NCCL failed between other ranks, and had to be given up between all" : "";
  };
  return {make, why_broken};
}

}  // namespace isotherm
