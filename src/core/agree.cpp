#include "core/agree.hpp"

namespace isotherm {

void throw_if_any_failed(const Communicator& communicator, const Failure& mine) {
  const std::int64_t none = communicator.size();
  const std::int64_t first =
      communicator.all_reduce(mine.failed ? std::int64_t{communicator.rank()} : none, ReduceOp::min);
  if (first == none) return;
  const int root = static_cast<int>(first);
  const std::int64_t code = communicator.all_reduce(
      communicator.rank() == root ? static_cast<std::int64_t>(mine.code) : 0, ReduceOp::max);
  const std::string message = communicator.broadcast(mine.message, root);
  throw CollectiveError(static_cast<ExitCode>(code), message);
}

}  // namespace isotherm
