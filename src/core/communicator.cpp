#include "core/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>

#include "core/all_or_throw.hpp"
#include "core/mpi_native.hpp"
#include "core/text.hpp"

namespace isotherm {

// Open MPI, PMIx, MPICH and its derivatives, Slurm.
bool environment_names_launcher() {
  return std::ranges::any_of(std::array{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"},
                             [](const char* name) {
                               const char* value = std::getenv(name);
                               return value && *value;
                             });
}

bool is_under_launcher() {
  static const bool first_answer = environment_names_launcher();
  return first_answer;
}

namespace {

MPI_Op native(ReduceOp op) { return op == ReduceOp::sum ? MPI_SUM : op == ReduceOp::min ? MPI_MIN : MPI_MAX; }

std::shared_ptr<Communicator::Native> adopt(MPI_Comm comm) {
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  auto native = std::make_shared<Communicator::Native>();
  native->comm = comm;
  return native;
}

std::shared_ptr<Communicator::Native> duplicate_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return adopt(copy);
}

template <class T>
MPI_Datatype type_of() {
  return std::is_same_v<T, double>         ? MPI_DOUBLE
         : std::is_same_v<T, std::int64_t> ? MPI_INT64_T
                                           : MPI_UINT64_T;
}

int checked_count(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw error_of(ExitCode::internal, "a collective of {} bytes is too long for one MPI call", bytes);
  return static_cast<int>(bytes);
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) {
  // No overwrite: a user who names an MPI-IO component gets it, and a warning from the snapshot writer.
  setenv("OMPI_MCA_io", "^ompio", 0);
  if (!is_under_launcher()) {
    // Open MPI 4 takes up to 1.5 s to start a daemon, which can spawn processes; isotherm never spawns any.
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    // The programs of a user share a folder for files that a lone process does not need. The last one removes
    // the folder: when many programs started and ended at a time, one in a hundred starts failed.
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  }
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
    throw Error(ExitCode::unavailable, "MPI_Init_thread failed; check the MPI installation and the launcher");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (provided < MPI_THREAD_FUNNELED)
    throw Error(ExitCode::unavailable,
                "this MPI gives thread level MPI_THREAD_SINGLE (isotherm runs threads of its own and needs "
                "MPI_THREAD_FUNNELED); use an MPI library built with thread support");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

bool mpi_takes_threads() {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  return provided >= MPI_THREAD_MULTIPLE;
}

void abort_all_ranks(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

Communicator::Native::~Native() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  // Freeing is collective: a rank that exits because of its own error would wait for the others.
  if (!finalized && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm);
}

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, rank = -1;
  MPI_Error_string(code, text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  throw error_of(ExitCode::internal,
                 "{} failed on rank {} ({}); the network or another rank is at fault, see its message", call,
                 rank, std::string_view(text, static_cast<std::size_t>(length)));
}

Communicator::Communicator(std::shared_ptr<Native> native) : native_(std::move(native)) {
  check_mpi(MPI_Comm_rank(native_->comm, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(native_->comm, &size_), "MPI_Comm_size");
}

Communicator Communicator::world() { return Communicator(duplicate_of(MPI_COMM_WORLD)); }
Communicator Communicator::self() { return Communicator(duplicate_of(MPI_COMM_SELF)); }

void Communicator::barrier() const { check_mpi(MPI_Barrier(native_->comm), "MPI_Barrier"); }

template <class T>
void Communicator::all_reduce(std::span<T> values, ReduceOp op) const {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), checked_count(values.size()), type_of<T>(),
                          isotherm::native(op), native_->comm),
            "MPI_Allreduce");
}
template void Communicator::all_reduce(std::span<double>, ReduceOp) const;
template void Communicator::all_reduce(std::span<std::int64_t>, ReduceOp) const;
template void Communicator::all_reduce(std::span<std::uint64_t>, ReduceOp) const;

struct PendingAllReduce::Flight {
  std::shared_ptr<Communicator::Native> communicator;  // lives as long as the request
  Values values;
  MPI_Request request = MPI_REQUEST_NULL;
};

// A collective can be neither cancelled nor abandoned: MPI needs its memory until it is complete.
void PendingAllReduce::Land::operator()(Flight* flight) const noexcept {
  const bool under_way = flight->request != MPI_REQUEST_NULL;
  if (under_way && std::uncaught_exceptions() > 0) return;
  if (under_way) MPI_Wait(&flight->request, MPI_STATUS_IGNORE);
  delete flight;
}

bool PendingAllReduce::done() {
  int done = 0;
  check_mpi(MPI_Test(&flight_->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

PendingAllReduce::Values PendingAllReduce::wait() {
  check_mpi(MPI_Wait(&flight_->request, MPI_STATUS_IGNORE), "MPI_Wait");
  return std::move(flight_->values);
}

PendingAllReduce Communicator::start_all_reduce(PendingAllReduce::Values values, ReduceOp op) const {
  PendingAllReduce pending;
  pending.flight_.reset(new PendingAllReduce::Flight{native_, std::move(values)});
  auto& flight = *pending.flight_;
  std::visit(
      [&]<class T>(std::vector<T>& mine) {
        check_mpi(MPI_Iallreduce(MPI_IN_PLACE, mine.data(), checked_count(mine.size()), type_of<T>(),
                                 isotherm::native(op), native_->comm, &flight.request),
                  "MPI_Iallreduce");
      },
      flight.values);
  return pending;
}

std::string Communicator::broadcast(std::string bytes, int root) const {
  std::uint64_t size = bytes.size();
  check_mpi(MPI_Bcast(&size, 1, MPI_UINT64_T, root, native_->comm), "MPI_Bcast");
  bytes.resize(size);
  check_mpi(MPI_Bcast(bytes.data(), checked_count(size), MPI_BYTE, root, native_->comm), "MPI_Bcast");
  return bytes;
}

std::vector<std::string> Communicator::all_gather(std::string_view text) const {
  const int length = checked_count(text.size());
  std::vector<int> lengths(static_cast<std::size_t>(size_)), starts(lengths.size());
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, native_->comm), "MPI_Allgather");
  std::size_t total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    starts[i] = checked_count(total);
    total += static_cast<std::size_t>(lengths[i]);
  }
  std::string joined(total, '\0');
  check_mpi(MPI_Allgatherv(text.data(), length, MPI_BYTE, joined.data(), lengths.data(), starts.data(),
                           MPI_BYTE, native_->comm),
            "MPI_Allgatherv");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < lengths.size(); ++i) all.push_back(joined.substr(starts[i], lengths[i]));
  return all;
}

std::string Communicator::first_of_all(std::string_view text) const {
  for (const std::string& each : all_gather(text))
    if (!each.empty()) return each;
  return {};
}

Communicator Communicator::split_by_host() const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(native_->comm, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part),
            "MPI_Comm_split_type");
  return Communicator(adopt(part));
}

Communicator Communicator::duplicate() const { return Communicator(duplicate_of(native_->comm)); }

Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return {ExitCode::memory, "out of host memory; use a smaller grid, fp32 or more ranks"};
  } catch (const std::exception& e) {
    return {ExitCode::internal, fmt::format("unexpected error ({}); please report it", e.what())};
  }
}

void throw_if_any_failed(const Communicator& communicator, const std::optional<Error>& mine) {
  const std::int64_t none = communicator.size();
  const std::int64_t first =
      communicator.all_reduce(mine ? std::int64_t{communicator.rank()} : none, ReduceOp::min);
  if (first == none) return;
  const int root = static_cast<int>(first);
  const std::int64_t code = communicator.all_reduce(
      communicator.rank() == root ? static_cast<std::int64_t>(mine->code()) : 0, ReduceOp::max);
  const std::string message = communicator.broadcast(mine ? mine->what() : "", root);
  throw CollectiveError(static_cast<ExitCode>(code), message);
}

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

std::string processor_name() {
  char text[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check_mpi(MPI_Get_processor_name(text, &length), "MPI_Get_processor_name");
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace isotherm
