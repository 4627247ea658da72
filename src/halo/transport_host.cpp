// Halos over host memory by MPI point-to-point messages. The pattern never changes, so the requests are
// persistent: an exchange allocates nothing and MPI matches the arguments once.
#include <algorithm>
#include <vector>

#include "core/mpi_native.hpp"
#include "halo/transport.hpp"

namespace isotherm {
namespace {

enum class Way { send, receive };

int error_class(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

// The persistent requests of one way. Pieces of a message share its tag: MPI keeps them in order as long as
// both sides start them in order, which is why they are started one by one (MPI_Startall may start in any).
class Requests {
 public:
  explicit Requests(Way way) : way_(way) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests();

  void add(void* data, std::size_t bytes, int peer, int tag, MPI_Comm comm);
  void start();
  void wait_all();
  int wait_any();  // the number of a request that is done; none left: MPI_UNDEFINED

 private:
  Way way_;
  bool active_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

// Requests are active here only when an exception passes through, and then main ends all ranks. Nothing may
// block on a peer that is gone: receives are cancelled so that late messages find no freed memory, and MPI
// drops what it still holds by itself.
Requests::~Requests() {
  for (MPI_Request& request : requests_) {
    if (active_ && way_ == Way::receive) MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

void Requests::add(void* data, std::size_t bytes, int peer, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = static_cast<int>(bytes);
  if (way_ == Way::send) {
    check_mpi(MPI_Send_init(data, count, MPI_BYTE, peer, tag, comm, &request), "MPI_Send_init");
  } else {
    check_mpi(MPI_Recv_init(data, count, MPI_BYTE, peer, tag, comm, &request), "MPI_Recv_init");
  }
  requests_.push_back(request);
  statuses_.emplace_back();
}

void Requests::start() {
  active_ = true;
  for (MPI_Request& request : requests_) check_mpi(MPI_Start(&request), "MPI_Start");
}

void Requests::wait_all() {
  const int code = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data());
  if (error_class(code) == MPI_ERR_IN_STATUS) {  // says nothing itself
    for (const MPI_Status& status : statuses_) {
      if (error_class(status.MPI_ERROR) != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, "MPI_Waitall");
    }
  }
  check_mpi(code, "MPI_Waitall");
  active_ = false;
}

int Requests::wait_any() {
  int index = MPI_UNDEFINED;
  check_mpi(MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &index, MPI_STATUS_IGNORE),
            "MPI_Waitany");
  if (index == MPI_UNDEFINED) active_ = false;
  return index;
}

// Calls use(offset, bytes) for each piece of a message.
template <class Use>
void for_each_piece(std::size_t bytes, std::size_t piece_bytes, Use use) {
  for (std::size_t offset = 0; offset < bytes; offset += piece_bytes) {
    use(offset, std::min(piece_bytes, bytes - offset));
  }
}

std::byte* at(const void* base, std::size_t offset) {
  return static_cast<std::byte*>(const_cast<void*>(base)) + offset;  // MPI_Send_init takes void* in C++ too
}

// The device's memory is the host's: MPI reads and writes the packed buffers themselves.
class DirectTransport : public Transport {
 public:
  DirectTransport(const Communicator& communicator, std::span<const HaloMessage> messages,
                  std::size_t piece_bytes)
      : communicator_(communicator) {
    const MPI_Comm comm = communicator_.native().comm;
    for (const HaloMessage& m : messages) {
      for_each_piece(m.bytes, piece_bytes, [&](std::size_t offset, std::size_t bytes) {
        sends_.add(at(m.send, offset), bytes, m.peer, m.send_tag, comm);
        receives_.add(at(m.receive, offset), bytes, m.peer, m.receive_tag, comm);
      });
    }
  }

  void post() override { receives_.start(); }
  void send(Stream) override { sends_.start(); }
  void wait(Stream) override {
    receives_.wait_all();
    sends_.wait_all();  // the next pack may overwrite them
  }

 private:
  Communicator communicator_;  // keeps the MPI_Comm of the requests alive
  Requests sends_{Way::send}, receives_{Way::receive};
};

// Through pinned host buffers. The host waits twice an exchange: for the copies out of the device before the
// sends, and for the messages before the copies into it.
class StagedTransport : public Transport {
 public:
  StagedTransport(Device& device, const Communicator& communicator, std::span<const HaloMessage> messages,
                  std::size_t piece_bytes)
      : device_(device),
        communicator_(communicator),
        messages_(messages.begin(), messages.end()),
        staged_(own_event(device)) {
    const MPI_Comm comm = communicator_.native().comm;
    for (const HaloMessage& m : messages_) {
      const Buffer& out = outgoing_.emplace_back(device, m.bytes, Memory::staging);
      const Buffer& in = incoming_.emplace_back(device, m.bytes, Memory::staging);
      for_each_piece(m.bytes, piece_bytes, [&](std::size_t offset, std::size_t bytes) {
        sends_.add(at(out.data(), offset), bytes, m.peer, m.send_tag, comm);
        receives_.add(at(in.data(), offset), bytes, m.peer, m.receive_tag, comm);
        arrivals_.push_back({at(m.receive, offset), at(in.data(), offset), bytes});
      });
    }
  }

  // Receives are posted in wait(): until `staged_` has passed, the copies of the exchange before may still
  // read `incoming_`.
  void post() override {}

  void send(Stream stream) override {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      device_.copy(outgoing_[i].data(), messages_[i].send, messages_[i].bytes, stream);
    }
    device_.record(staged_, stream);
  }

  void wait(Stream stream) override {
    device_.synchronize(staged_);
    receives_.start();
    sends_.start();
    for (int i = receives_.wait_any(); i != MPI_UNDEFINED; i = receives_.wait_any()) {
      device_.copy(arrivals_[i].device, arrivals_[i].host, arrivals_[i].bytes, stream);
    }
    sends_.wait_all();  // the next exchange may overwrite outgoing_
  }

 private:
  struct Arrival {  // by request
    void* device;
    const void* host;
    std::size_t bytes;
  };
  Device& device_;
  Communicator communicator_;
  std::vector<HaloMessage> messages_;
  Owned<Event> staged_;  // the packed data is in `outgoing_`
  std::vector<Buffer> outgoing_, incoming_;
  std::vector<Arrival> arrivals_;
  Requests sends_{Way::send}, receives_{Way::receive};
};

}  // namespace

std::unique_ptr<Transport> make_host_transport(Device& device, const Communicator& communicator,
                                               std::span<const HaloMessage> messages,
                                               std::size_t piece_bytes) {
  if (device.backend() == Backend::host) {
    return std::make_unique<DirectTransport>(communicator, messages, piece_bytes);
  }
  return std::make_unique<StagedTransport>(device, communicator, messages, piece_bytes);
}

}  // namespace isotherm
