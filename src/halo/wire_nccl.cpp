// NCCL's calls that meet other ranks wait for them without a bound. A communicator that does not block would
// say so instead, but then starts a thread for every group, and the host has to ask until it is done before
// anything may follow on the stream. So the communicator blocks, and the two calls that meet others, its
// creation and the first messages between two ranks, run in a thread that is waited for so long and no
// longer. Later groups only queue.
#include "halo/wire_nccl.hpp"

#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "core/agree.hpp"
#include "core/cuda_native.hpp"
#include "core/error.hpp"

namespace isotherm {
namespace {

constexpr double patience = 60;  // s; thousands of ranks take some ten to find each other

// The last error of NCCL is a sentence, where there is one, that says more than the code.
void check_nccl(ncclResult_t result, const char* call, ncclComm_t comm, ExitCode code) {
  if (result == ncclSuccess) return;
  const char* const last = ncclGetLastError(comm);
  std::string detail = last ? last : "";
  while (!detail.empty() && std::isspace(static_cast<unsigned char>(detail.back()))) detail.pop_back();
  throw Error(
      code, fmt::format("{} failed ({}{}{}); set NCCL_DEBUG=WARN to see more, or use another transport", call,
                        ncclGetErrorString(result), detail.empty() ? "" : ": ", detail));
}

// The result of `work`, done in a thread of its own. One that does not come back keeps its thread, and what
// it holds, until the program ends.
template <class Work>
auto in_time(Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(std::chrono::duration<double>(patience)) != std::future_status::ready) {
    thread.detach();
    throw Error(ExitCode::unavailable, fmt::format("NCCL did not come back within {:.3g} s", patience));
  }
  thread.join();
  return result.get();
}

// NCCL knows no tags: the messages of a pair meet in the order in which they are posted. The sender's tags
// give both sides one order, whatever theirs is: around a periodic axis of two parts each rank's first
// message is the other's second.
struct Post {
  int peer, senders_tag;
  void* data;
  std::size_t bytes;
  auto place() const { return std::tuple(peer, senders_tag); }
};
void sort(std::vector<Post>& posts) {
  std::sort(posts.begin(), posts.end(), [](const Post& a, const Post& b) { return a.place() < b.place(); });
}

struct Group {
  std::vector<Post> sends, receives;
};
Group group_of(std::span<const WireMessage> messages) {
  Group group;
  for (const WireMessage& m : messages) {
    group.sends.push_back({m.peer, m.send_tag, const_cast<void*>(m.send), m.bytes});
    group.receives.push_back({m.peer, m.receive_tag, m.receive, m.bytes});
  }
  sort(group.sends);
  sort(group.receives);
  return group;
}

// A group that was started is ended, come what may.
void queue(const Group& group, ncclComm_t comm, Stream stream, ExitCode code) {
  check_nccl(ncclGroupStart(), "ncclGroupStart", comm, code);
  ncclResult_t posted = ncclSuccess;
  for (const Post& p : group.sends) {
    if (posted == ncclSuccess)
      posted = ncclSend(p.data, p.bytes, ncclChar, p.peer, comm, cuda::native(stream));
  }
  for (const Post& p : group.receives) {
    if (posted == ncclSuccess)
      posted = ncclRecv(p.data, p.bytes, ncclChar, p.peer, comm, cuda::native(stream));
  }
  const ncclResult_t ended = ncclGroupEnd();
  check_nccl(posted, "ncclSend or ncclRecv", comm, code);
  check_nccl(ended, "ncclGroupEnd", comm, code);
}

// A byte each way with ranks that have not met: NCCL sets up their connections then, and waits for them.
void greet(Device& device, ncclComm_t comm, const std::vector<int>& peers) {
  const Owned<Stream> stream = own_stream(device, Priority::high);
  const Buffer bytes(device, 2 * peers.size());
  std::vector<WireMessage> messages;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    std::byte* const at = bytes.as<std::byte>() + 2 * i;
    messages.push_back({peers[i], 0, 0, at, at + 1, 1});
  }
  queue(group_of(messages), comm, stream, ExitCode::unavailable);
  device.synchronize(stream);
}

void refuse_shared_gpus(const std::vector<std::string>& uuids) {
  std::map<std::string, std::size_t> owner;
  for (std::size_t rank = 0; rank < uuids.size(); ++rank) {
    const auto [first, is_new] = owner.emplace(uuids[rank], rank);
    if (is_new) continue;
    throw Error(ExitCode::unavailable,
                fmt::format("ranks {} and {} share {}, which NCCL does not allow; start one rank "
                            "a GPU, or use another transport",
                            first->second, rank, uuids[rank]));
  }
}

ncclUniqueId common_id(const Communicator& communicator) {
  ncclUniqueId id{};
  agree(communicator, [&] {
    if (communicator.is_root()) {
      check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId", nullptr, ExitCode::unavailable);
    }
  });
  const std::string bytes = communicator.broadcast(std::string(id.internal, sizeof(id.internal)));
  std::copy(bytes.begin(), bytes.end(), id.internal);
  return id;
}

// The communicator of all ranks. Graphs that hold its groups must be released before it is.
class NcclRanks {
 public:
  NcclRanks(Device& device, const Communicator& communicator) : device_(device) {
    refuse_shared_gpus(communicator.all_gather(device.info().uuid));
    const ncclUniqueId id = common_id(communicator);
    const int rank = communicator.rank(), ranks = communicator.size();
    agree(communicator, [&] {
      comm_.reset(in_time([&device, id, rank, ranks] {
        const Owned<Stream> stream =
            own_stream(device, Priority::normal);  // the device is this thread's from here
        ncclComm_t comm = nullptr;
        check_nccl(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank", nullptr,
                   ExitCode::unavailable);
        return comm;
      }));
    });
  }

  void abort() noexcept { comm_.reset(); }
  bool aborted() const { return !comm_; }

  void meet(std::span<const WireMessage> messages) {
    refuse_aborted();
    std::set<int> peers;
    for (const WireMessage& m : messages) {
      if (!met_.contains(m.peer)) peers.insert(m.peer);
    }
    if (peers.empty()) return;
    try {
      in_time([&device = device_, comm = comm_.get(), list = std::vector<int>(peers.begin(), peers.end())] {
        greet(device, comm, list);
      });
    } catch (...) {
      abort();
      throw;
    }
    met_.merge(peers);
  }

  void exchange(const Group& group, Stream stream) const {
    refuse_aborted();
    queue(group, comm_.get(), stream, ExitCode::internal);
  }

  // What NCCL's own threads have run into. A flag that is read, no call of CUDA.
  void check() const {
    refuse_aborted();
    ncclResult_t found = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(comm_.get(), &found), "ncclCommGetAsyncError", comm_.get(),
               ExitCode::internal);
    check_nccl(found, "NCCL", comm_.get(), ExitCode::internal);
  }

 private:
  void refuse_aborted() const {
    if (aborted()) throw Error(ExitCode::internal, "NCCL was given up before; use another transport");
  }

  // Where nothing is under way, to abort is to destroy without waiting for the others.
  struct Abort {
    void operator()(ncclComm_t comm) const noexcept {
      try {
        in_time([comm] { return ncclCommAbort(comm); });
      } catch (const std::exception&) {  // there is nothing left to end it with
      }
    }
  };

  Device& device_;
  std::unique_ptr<std::remove_pointer_t<ncclComm_t>, Abort> comm_;
  std::set<int> met_;
};

class NcclWire final : public Wire {
 public:
  NcclWire(std::shared_ptr<NcclRanks> ranks, std::span<const WireMessage> messages)
      : ranks_(std::move(ranks)), group_(group_of(messages)) {}

  void send(Stream stream) override { ranks_->exchange(group_, stream); }
  void receive(Stream) override { ranks_->check(); }
  bool arrived() override { return true; }  // the stream waits, not the host
  void abandon() noexcept override { ranks_->abort(); }
  bool recordable() const override { return true; }

 private:
  std::shared_ptr<NcclRanks> ranks_;
  Group group_;
};

class NcclWires final : public WireMaker {
 public:
  explicit NcclWires(std::shared_ptr<NcclRanks> ranks) : ranks_(std::move(ranks)) {}
  std::unique_ptr<Wire> make(std::span<const WireMessage> messages) override {
    ranks_->meet(messages);
    return std::make_unique<NcclWire>(ranks_, messages);
  }
  std::string why_broken() const override {
    return ranks_->aborted() ? "NCCL failed between other ranks, and had to be given up between all" : "";
  }

 private:
  std::shared_ptr<NcclRanks> ranks_;
};

}  // namespace

std::string why_no_nccl(const Device& device) {
  return device.backend() == Backend::host ? "needs a GPU" : "";
}

std::unique_ptr<WireMaker> open_nccl_wires(Device& device, const Communicator& communicator) {
  return std::make_unique<NcclWires>(std::make_shared<NcclRanks>(device, communicator));
}

}  // namespace isotherm
