#include "halo/mpi_requests.hpp"

#include "core/mpi_native.hpp"

namespace isotherm {
namespace {

int error_class(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

// Of a call that tells what went wrong in its statuses only.
void check_each(int code, const std::vector<MPI_Status>& statuses, const char* call) {
  if (error_class(code) == MPI_ERR_IN_STATUS) {
    for (const MPI_Status& status : statuses) {
      if (error_class(status.MPI_ERROR) != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, call);
    }
  }
  check_mpi(code, call);
}

}  // namespace

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
  for (std::size_t i = 0; i < requests_.size(); ++i) start(i);
}

void Requests::start(std::size_t index) {
  active_ = true;
  check_mpi(MPI_Start(&requests_[index]), "MPI_Start");
}

void Requests::wait_all() {
  check_each(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data()), statuses_,
             "MPI_Waitall");
  active_ = false;
}

bool Requests::test_all() {
  int done = 0;
  check_each(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data()),
             statuses_, "MPI_Testall");
  if (done) active_ = false;
  return done != 0;
}

int Requests::wait_any() {
  int index = MPI_UNDEFINED;
  check_mpi(MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &index, MPI_STATUS_IGNORE),
            "MPI_Waitany");
  if (index == MPI_UNDEFINED) active_ = false;
  return index;
}

int Requests::test_any() {
  int index = MPI_UNDEFINED, done = 0;
  check_mpi(
      MPI_Testany(static_cast<int>(requests_.size()), requests_.data(), &index, &done, MPI_STATUS_IGNORE),
      "MPI_Testany");
  if (!done) return MPI_UNDEFINED;
  if (index == MPI_UNDEFINED) active_ = false;
  return index;
}

}  // namespace isotherm
