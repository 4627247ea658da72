// Packed messages by MPI, from their buffers or staged; and whether MPI accepts buffers of a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "core/mpi_native.hpp"
#include "halo/packed_transport.hpp"

// The queries of Open MPI and of MPICH since 4.0. Weak: null in a library that has none.
extern "C" {
int MPIX_Query_cuda_support() __attribute__((weak));
int MPIX_GPU_query_support(int gpu_type, int* is_supported) __attribute__((weak));
}

namespace isotherm {
namespace {

std::optional<bool> mpi_takes_device_memory() {
  constexpr int cuda = 0;  // MPIX_GPU_SUPPORT_CUDA
  int supported = 0;
  if (MPIX_Query_cuda_support) return MPIX_Query_cuda_support() != 0;
  if (!MPIX_GPU_query_support) return std::nullopt;
  check_mpi(MPIX_GPU_query_support(cuda, &supported), "MPIX_GPU_query_support");
  return supported != 0;
}

bool started() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

int error_class(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

// Checks a call that reports errors only in its statuses.
void check_each(int code, const std::vector<MPI_Status>& statuses, const char* call) {
  if (error_class(code) == MPI_ERR_IN_STATUS) {
    for (const MPI_Status& status : statuses) {
      if (error_class(status.MPI_ERROR) != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, call);
    }
  }
  check_mpi(code, call);
}

// Persistent MPI requests in one direction: an exchange allocates nothing, and MPI checks the arguments once.
// Pieces of a message share its tag: MPI keeps their order as long as both sides start them in order, one by
// one (MPI_Startall may start them in any order).
class Requests {
 public:
  enum class Way { send, receive };

  explicit Requests(Way way) : way_(way) {}
  Requests& operator=(Requests&&) = delete;
  // Requests are still active here only during an exception, after which main ends all ranks. Nothing may
  // block on a dead peer: receives are cancelled, and MPI drops the rest by itself.
  ~Requests() {
    for (MPI_Request& request : requests_) {
      if (active_ && way_ == Way::receive) MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  void add(void* data, std::size_t bytes, int peer, int tag, MPI_Comm comm) {  // at most INT_MAX bytes
    MPI_Request request = MPI_REQUEST_NULL;
    const int length = static_cast<int>(bytes);
    way_ == Way::send
        ? check_mpi(MPI_Send_init(data, length, MPI_BYTE, peer, tag, comm, &request), "MPI_Send_init")
        : check_mpi(MPI_Recv_init(data, length, MPI_BYTE, peer, tag, comm, &request), "MPI_Recv_init");
    requests_.push_back(request);
    statuses_.emplace_back();
  }

  void start() {
    for (std::size_t i = 0; i < requests_.size(); ++i) start(i);
  }
  void start(std::size_t index) {
    active_ = true;
    check_mpi(MPI_Start(&requests_[index]), "MPI_Start");
  }
  void wait_all() {
    check_each(MPI_Waitall(count(), requests_.data(), statuses_.data()), statuses_, "MPI_Waitall");
    active_ = false;
  }
  bool test_all() {
    int done = 0;
    check_each(MPI_Testall(count(), requests_.data(), &done, statuses_.data()), statuses_, "MPI_Testall");
    if (done) active_ = false;
    return done != 0;
  }
  // The index of a completed request, or MPI_UNDEFINED. `waits`: for one, if any is active.
  int any(bool waits) {
    int index = MPI_UNDEFINED, done = 1;
    waits
        ? check_mpi(MPI_Waitany(count(), requests_.data(), &index, MPI_STATUS_IGNORE), "MPI_Waitany")
        : check_mpi(MPI_Testany(count(), requests_.data(), &index, &done, MPI_STATUS_IGNORE), "MPI_Testany");
    if (done && index == MPI_UNDEFINED) active_ = false;
    return done ? index : MPI_UNDEFINED;
  }

 private:
  int count() const { return static_cast<int>(requests_.size()); }

  Way way_;
  bool active_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

std::byte* at(void* base, std::size_t offset) { return static_cast<std::byte*>(base) + offset; }

// MPI reads and writes the packed buffers directly: host memory, or a GPU's where MPI accepts it.
// `is_staged`: through pinned host buffers. While a piece is on the network, the next is copied from the
// device, and the previous one to the peer's device.
class MpiWire final : public Wire {
 public:
  MpiWire(Device& device, const Communicator& communicator, std::span<const WireMessage> messages,
          std::size_t piece_bytes, bool is_staged)
      : device_(device), communicator_(communicator), is_staged_(is_staged) {
    const MPI_Comm comm = communicator_.native().comm;
    for (const WireMessage& m : messages) {
      void *out = m.send, *in = m.receive;
      for (void** buffer : {&out, &in})
        if (is_staged) *buffer = staging_.emplace_back(device, m.bytes, Memory::staging).data();
      for (std::size_t offset = 0; offset < m.bytes; offset += piece_bytes) {
        const std::size_t bytes = std::min(piece_bytes, m.bytes - offset);
        sends_.add(at(out, offset), bytes, m.peer, m.send_tag, comm);
        receives_.add(at(in, offset), bytes, m.peer, m.receive_tag, comm);
        pieces_.push_back({at(out, offset), at(m.send, offset), at(m.receive, offset), at(in, offset), bytes,
                           own_event(device)});
      }
    }
  }

  // On a GPU the host does not wait here for the pack kernels: it queues the interior meanwhile.
  void send(Stream stream) override {
    started_ = 0;
    all_here_ = false;
    for (const Piece& piece : pieces_) {
      if (is_staged_) device_.copy(piece.out, piece.packed, piece.bytes, stream);
      device_.record(piece.ready, stream);
      if (!is_staged_) return start_ready();  // one event follows all pack kernels
    }
  }

  bool arrived() override {
    start_ready();
    if (started_ < pieces_.size()) return false;
    all_here_ = all_here_ || receives_.test_all();
    return all_here_ && sends_.test_all();
  }

  void receive(Stream stream) override {
    while (started_ < pieces_.size()) {
      device_.synchronize(pieces_[started_].ready);
      start_next();
      if (is_staged_) deliver_arrived(false, stream);
    }
    if (is_staged_)
      deliver_arrived(true, stream);
    else
      receives_.wait_all();
    sends_.wait_all();  // the next exchange may overwrite `out`
  }

 private:
  struct Piece {  // by request; `out` and `in` are the packed buffers themselves where nothing is staged
    void* out;
    const void* packed;
    void* unpacked;
    const void* in;
    std::size_t bytes;
    Owned<Event> ready;  // recorded when the piece is in `out`
  };

  void start_ready() {
    while (started_ < pieces_.size() && device_.passed(pieces_[started_].ready)) start_next();
  }
  // Receives start with the first piece: before, work of the previous exchange may still read `in`.
  void start_next() {
    if (started_ == 0) receives_.start();
    do sends_.start(started_++);
    while (!is_staged_ && started_ < pieces_.size());
  }

  void deliver_arrived(bool all, Stream stream) {
    const auto deliver = [&](const Piece& piece) {
      device_.copy(piece.unpacked, piece.in, piece.bytes, stream);
    };
    for (int i = receives_.any(all); i != MPI_UNDEFINED; i = receives_.any(all)) deliver(pieces_[i]);
    if (all && all_here_) std::ranges::for_each(pieces_, deliver);
  }

  Device& device_;
  Communicator communicator_;  // keeps the MPI_Comm of the requests alive
  bool is_staged_;
  std::vector<Buffer> staging_;
  std::vector<Piece> pieces_;
  std::size_t started_ = 0;
  bool all_here_ = false;  // set by arrived(), after which no request is active
  Requests sends_{Requests::Way::send}, receives_{Requests::Way::receive};
};

}  // namespace

std::unique_ptr<Wire> make_direct_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages, std::size_t piece_bytes) {
  return std::make_unique<MpiWire>(device, communicator, messages, piece_bytes, false);
}

std::unique_ptr<Wire> make_host_wire(Device& device, const Communicator& communicator,
                                     std::span<const WireMessage> messages) {
  if (device.backend() == Backend::host) return make_direct_wire(device, communicator, messages);
  return make_staged_wire(device, communicator, messages);
}

std::unique_ptr<Wire> make_staged_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages, std::size_t piece_bytes) {
  return std::make_unique<MpiWire>(device, communicator, messages, piece_bytes, true);
}

std::string judge_device_memory(std::optional<bool> answer, const std::string& library,
                                std::string_view cray_switch) {
  if (strcasestr(library.c_str(), "cray")) {  // "CRAY MPICH version 8.1.28" has been written in other ways
    if (cray_switch != "1") {
      return fmt::format(
          "the GPU support of {} is off; set MPICH_GPU_SUPPORT_ENABLED=1, in a program that was built with "
          "the accelerator's module loaded",
          library);
    }
    if (!answer) return {};  // its MPI_Init would have failed without the library for GPUs
  }
  if (!answer) {
    return fmt::format(
        "{} has no query that says whether it takes device memory; build with an Open MPI or an MPICH (4.0 "
        "or later) that supports CUDA",
        library);
  }
  if (*answer) return {};
  return fmt::format("{} says that it was built without CUDA, or runs without it; use one with CUDA",
                     library);
}

std::string why_mpi_takes_no_device_memory() {
  if (!started())
    return "MPI can be asked only when it has started; isotherm check asks it if the deck names this "
           "transport";
  const char* cray_switch = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  return judge_device_memory(mpi_takes_device_memory(), mpi_library_version(),
                             cray_switch ? cray_switch : "");
}

}  // namespace isotherm
