#include "halo/handshake.hpp"

#include "core/mpi_native.hpp"
#include "core/timer.hpp"
#include "halo/messages.hpp"

namespace isotherm {

constexpr int text_tag = first_free_tag, disconnect_tag = first_free_tag + 1;

std::vector<std::string> swap_texts(const Communicator& communicator, std::span<const int> peers,
                                    std::span<const std::string> mine) {
  const MPI_Comm comm = communicator.native().comm;
  std::vector<MPI_Request> sends(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    check_mpi(MPI_Isend(mine[i].data(), mine[i].size(), MPI_BYTE, peers[i], text_tag, comm, &sends[i]),
              "MPI_Isend");
  }
  std::vector<std::string> theirs;
  for (const int peer : peers) {
    MPI_Status status;
    int length = 0;
    check_mpi(MPI_Probe(peer, text_tag, comm, &status), "MPI_Probe");
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
    std::string& text = theirs.emplace_back(static_cast<std::size_t>(length), '\0');
    check_mpi(MPI_Recv(text.data(), length, MPI_BYTE, peer, text_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  check_mpi(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  return theirs;
}

void disconnect(const Communicator& communicator, std::span<const int> peers, double seconds) noexcept {
  const MPI_Comm comm = communicator.native().comm;
  std::vector<MPI_Request> received(peers.size(), MPI_REQUEST_NULL), sent(peers.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    MPI_Irecv(nullptr, 0, MPI_BYTE, peers[i], disconnect_tag, comm, &received[i]);
    MPI_Isend(nullptr, 0, MPI_BYTE, peers[i], disconnect_tag, comm, &sent[i]);
  }
  const int count = static_cast<int>(peers.size());
  int all = 0;
  for (const Timer timer; !all && timer.seconds() < seconds;) {
    if (MPI_Testall(count, received.data(), &all, MPI_STATUSES_IGNORE) != MPI_SUCCESS) break;
  }
  for (std::vector<MPI_Request>* requests : {&received, &sent}) {
    for (MPI_Request& request : *requests) {
      if (request == MPI_REQUEST_NULL) continue;
      if (requests == &received) MPI_Cancel(&request);
      MPI_Request_free(&request);  // MPI completes the rest by itself
    }
  }
}

}  // namespace isotherm
