// Persistent MPI requests: the pattern of an exchange never changes, so an exchange allocates nothing and MPI
// looks at the arguments once. Only halo/ includes this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/mpi_native.hpp"

namespace isotherm {

// Those of one way. Pieces of a message share its tag: MPI keeps them in order as long as both sides start
// them in order, which is why they are started one by one (MPI_Startall may start in any).
class Requests {
 public:
  enum class Way { send, receive };

  explicit Requests(Way way) : way_(way) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests();

  void add(void* data, std::size_t bytes, int peer, int tag, MPI_Comm comm);  // at most INT_MAX bytes
  std::size_t size() const { return requests_.size(); }

  void start();
  void start(std::size_t index);
  void wait_all();
  bool test_all();
  // The number of a request that is done, or none: MPI_UNDEFINED. wait_any waits for one, where any is under
  // way.
  int wait_any();
  int test_any();

 private:
  Way way_;
  bool active_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

// Calls use(offset, bytes) for each piece of a message.
template <class Use>
void for_each_piece(std::size_t bytes, std::size_t piece_bytes, Use use) {
  for (std::size_t offset = 0; offset < bytes; offset += piece_bytes) {
    use(offset, std::min(piece_bytes, bytes - offset));
  }
}

// MPI_Send_init takes void* in C++ too.
inline std::byte* at(const void* base, std::size_t offset) {
  return static_cast<std::byte*>(const_cast<void*>(base)) + offset;
}

}  // namespace isotherm
