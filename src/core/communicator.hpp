// A C++ interface to MPI: one session per process, communicators as values, typed collectives that throw.
// MPI's own types are visible only through core/mpi_native.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace isotherm {

// Did a launcher, such as mpirun, start this process? The first reads the environment now. The second has the
// answer from before MPI_Init, which may set such a variable without a launcher (Open MPI 4: PMIX_RANK).
bool environment_names_launcher();
bool is_under_launcher();

// MPI_Init_thread ... MPI_Finalize. Asks for MPI_THREAD_MULTIPLE, rejects less than FUNNELED, and excludes
// OMPIO, which loses data on a full disk without an error, unless the user chose an MPI-IO component.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession& operator=(MpiSession&&) = delete;
};

// May several threads call MPI at the same time? Not every library, or build of one, allows it.
bool mpi_takes_threads();

// Ends all ranks at once with this exit code. For main, after it has printed the message.
[[noreturn]] void abort_all_ranks(int exit_code);

enum class ReduceOp { sum, min, max };

// An all-reduce in progress. The destructor waits for it, unless wait() did. During an exception, when other
// ranks may have ended, it leaks the memory instead: MPI may write to it until main ends all ranks.
class PendingAllReduce {
 public:
  using Values = std::variant<std::vector<double>, std::vector<std::int64_t>>;

  bool done();    // does not wait; MPI may make progress in this call
  Values wait();  // the reduced values, of the type passed at the start; call it once

 private:
  friend class Communicator;
  struct Flight;
  struct Land {
    void operator()(Flight* flight) const noexcept;
  };
  std::unique_ptr<Flight, Land> flight_;
};

class Communicator {
 public:
  // A duplicate of MPI_COMM_WORLD; errors return and are thrown as Error(internal).
  static Communicator world();
  static Communicator self();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }

  void barrier() const;
  // In place. T: double, std::int64_t or std::uint64_t, whose sum wraps modulo 2^64.
  template <class T>
  void all_reduce(std::span<T> values, ReduceOp op) const;
  template <class T>
  requires std::is_arithmetic_v<T> T all_reduce(T value, ReduceOp op)
  const {
    all_reduce(std::span(&value, 1), op);
    return value;
  }
  bool all(bool mine) const { return all_reduce(std::int64_t{mine}, ReduceOp::min) != 0; }
  bool any(bool mine) const { return all_reduce(std::int64_t{mine}, ReduceOp::max) != 0; }
  // As with every collective, all ranks call it in the same order; all pass the same number of values.
  PendingAllReduce start_all_reduce(PendingAllReduce::Values values, ReduceOp op) const;
  std::string broadcast(std::string bytes, int root = 0) const;      // every rank returns root's bytes
  std::vector<std::string> all_gather(std::string_view text) const;  // one per rank, in rank order
  std::string first_of_all(std::string_view text) const;  // of the lowest rank with a text; or empty
  Communicator split_by_host() const;                     // the ranks that share this rank's memory
  Communicator duplicate() const;                         // the same ranks; messages are separate

  struct Native;  // holds the MPI_Comm; defined in core/mpi_native.hpp
  const Native& native() const { return *native_; }

 private:
  explicit Communicator(std::shared_ptr<Native> native);
  std::shared_ptr<Native> native_;  // shared: a Communicator is a cheap value
  int rank_ = 0, size_ = 1;
};

std::string mpi_library_version();  // one line
std::string processor_name();

}  // namespace isotherm
