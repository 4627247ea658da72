// MPI over pinned host buffers beside those of the device. Messages travel in pieces: while one is on the
// network, the next is copied out of the device, and the one before into the peer's.
#include "core/mpi_native.hpp"
#include "halo/mpi_requests.hpp"
#include "halo/wire.hpp"

namespace isotherm {
namespace {

class StagedWire final : public Wire {
 public:
  StagedWire(Device& device, const Communicator& communicator, std::span<const WireMessage> messages,
             std::size_t piece_bytes)
      : device_(device), communicator_(communicator) {
    const MPI_Comm comm = communicator_.native().comm;
    for (const WireMessage& m : messages) {
      const Buffer& out = outgoing_.emplace_back(device, m.bytes, Memory::staging);
      const Buffer& in = incoming_.emplace_back(device, m.bytes, Memory::staging);
      for_each_piece(m.bytes, piece_bytes, [&](std::size_t offset, std::size_t bytes) {
        sends_.add(at(out.data(), offset), bytes, m.peer, m.send_tag, comm);
        receives_.add(at(in.data(), offset), bytes, m.peer, m.receive_tag, comm);
        pieces_.push_back({at(out.data(), offset), at(m.send, offset), at(m.receive, offset),
                           at(in.data(), offset), bytes, own_event(device)});
      });
    }
  }

  void send(Stream stream) override {
    for (const Piece& piece : pieces_) {
      device_.copy(piece.out, piece.packed, piece.bytes, stream);
      device_.record(piece.staged, stream);
    }
    started_ = 0;
    all_here_ = false;
  }

  bool arrived() override {
    while (started_ < pieces_.size() && device_.passed(pieces_[started_].staged)) start_next();
    if (started_ < pieces_.size()) return false;
    all_here_ = all_here_ || receives_.test_all();
    return all_here_ && sends_.test_all();
  }

  void receive(Stream stream) override {
    while (started_ < pieces_.size()) {
      device_.synchronize(pieces_[started_].staged);
      start_next();
      for (int i = receives_.test_any(); i != MPI_UNDEFINED; i = receives_.test_any()) deliver(i, stream);
    }
    for (int i = receives_.wait_any(); i != MPI_UNDEFINED; i = receives_.wait_any()) deliver(i, stream);
    for (std::size_t i = 0; all_here_ && i < pieces_.size(); ++i) deliver(static_cast<int>(i), stream);
    sends_.wait_all();  // the next exchange may overwrite `out`
  }

 private:
  struct Piece {  // by request
    void* out;
    const void* packed;
    void* unpacked;
    const void* in;
    std::size_t bytes;
    Owned<Event> staged;  // it is in `out`
  };

  // Receives start with the first piece: until then the copies of the exchange before may read `in`.
  void start_next() {
    if (started_ == 0) receives_.start();
    sends_.start(started_++);
  }

  void deliver(int i, Stream stream) {
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    device_.copy(piece.unpacked, piece.in, piece.bytes, stream);
  }

  Device& device_;
  Communicator communicator_;
  std::vector<Buffer> outgoing_, incoming_;
  std::vector<Piece> pieces_;
  std::size_t started_ = 0;
  bool all_here_ = false;  // found by arrived(): no request is left to tell
  Requests sends_{Requests::Way::send}, receives_{Requests::Way::receive};
};

}  // namespace

std::unique_ptr<Wire> make_staged_wire(Device& device, const Communicator& communicator,
                                       std::span<const WireMessage> messages, std::size_t piece_bytes) {
  return std::make_unique<StagedWire>(device, communicator, messages, piece_bytes);
}

}  // namespace isotherm
