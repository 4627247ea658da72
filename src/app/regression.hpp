// --baseline of run, compare and bench: is what was measured worse than it was?
#pragma once

#include <optional>
#include <vector>

#include "app/command_line.hpp"
#include "app/session.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "output/records/baseline.hpp"

namespace isotherm {

// Collective: what rank 0 reads. Throws CollectiveError(file_missing).
std::string read_baseline(const std::string& path, const Communicator& world);

class Regression {
 public:
  // Collective; nothing where no baseline was named. Throws CollectiveError before any work where it cannot
  // be read, is none, or is of another grid, precision, number of ranks or device.
  Regression(const BaselineOptions& options, const Session& session, const Device& device,
             const Communicator& world);

  // By figures that all ranks have. None without a baseline.
  std::optional<BaselineVerdict> judge(const std::vector<Merit>& now) const;

 private:
  double tolerance_;
  std::optional<Baseline> baseline_;
};

// On all ranks alike: throws CollectiveError, of code diverged where a figure got worse, of code deck where
// there is none in common.
void refuse_worse(const BaselineVerdict& verdict);

}  // namespace isotherm
