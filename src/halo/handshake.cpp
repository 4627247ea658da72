#include "halo/handshake.hpp"

#include <cstdint>

#include "core/mpi_native.hpp"
#include "core/timer.hpp"
#include "halo/messages.hpp"

namespace isotherm {
namespace {

constexpr int length_tag = first_free_tag, text_tag = first_free_tag + 1, leave_tag = first_free_tag + 2;

// Sends and receives one buffer a peer, all at once.
template <class Sent, class Received>
void swap_buffers(MPI_Comm comm, int tag, std::span<const int> peers, Sent sent, Received received) {
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const std::span<std::byte> into = received(i);
    check_mpi(MPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, peers[i], tag, comm,
                        &requests.emplace_back()),
              "MPI_Irecv");
    const std::span<const std::byte> from = sent(i);
    check_mpi(MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, peers[i], tag, comm,
                        &requests.emplace_back()),
              "MPI_Isend");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
}

}  // namespace

std::vector<std::string> swap_texts(const Communicator& communicator, std::span<const int> peers,
                                    std::span<const std::string> mine) {
  const MPI_Comm comm = communicator.native().comm;
  std::vector<std::uint64_t> length, their_length(peers.size());
  for (const std::string& text : mine) length.push_back(text.size());
  swap_buffers(
      comm, length_tag, peers, [&](std::size_t i) { return std::as_bytes(std::span(&length[i], 1)); },
      [&](std::size_t i) { return std::as_writable_bytes(std::span(&their_length[i], 1)); });
  std::vector<std::string> theirs(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i) theirs[i].resize(their_length[i]);
  swap_buffers(
      comm, text_tag, peers, [&](std::size_t i) { return std::as_bytes(std::span(mine[i])); },
      [&](std::size_t i) { return std::as_writable_bytes(std::span(theirs[i])); });
  return theirs;
}

bool take_leave(const Communicator& communicator, std::span<const int> peers, double seconds) noexcept {
  const MPI_Comm comm = communicator.native().comm;
  std::vector<MPI_Request> heard(peers.size(), MPI_REQUEST_NULL), said(peers.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    MPI_Irecv(nullptr, 0, MPI_BYTE, peers[i], leave_tag, comm, &heard[i]);
    MPI_Isend(nullptr, 0, MPI_BYTE, peers[i], leave_tag, comm, &said[i]);
  }
  const int count = static_cast<int>(peers.size());
  int all = 0;
  for (const Timer timer; !all && timer.seconds() < seconds;) {
    if (MPI_Testall(count, heard.data(), &all, MPI_STATUSES_IGNORE) != MPI_SUCCESS) break;
  }
  for (std::vector<MPI_Request>* requests : {&heard, &said}) {
    for (MPI_Request& request : *requests) {
      if (request == MPI_REQUEST_NULL) continue;
      if (requests == &heard) MPI_Cancel(&request);
      MPI_Request_free(&request);  // what is left of it MPI does by itself
    }
  }
  return all != 0;
}

}  // namespace isotherm
