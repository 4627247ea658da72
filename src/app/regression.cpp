#include "app/regression.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/agree.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

std::string text_of_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    throw Error(ExitCode::file_missing,
                fmt::format("the baseline {} cannot be read ({}); name another with --baseline",
                            in_quotes(path), std::strerror(errno ? errno : EIO)));
  return text;
}

}  // namespace

std::string read_baseline(const std::string& path, const Communicator& world) {
  std::string text;
  agree(world, [&] {
    if (world.is_root()) text = text_of_file(path);
  });
  return world.broadcast(text);
}

Regression::Regression(const BaselineOptions& options, const Session& session, const Device& device,
                       const Communicator& world)
    : tolerance_(options.tolerance) {
  if (options.file.empty()) return;
  const std::string text = read_baseline(options.file, world);
  const Config& config = session.cases.back();
  const Subject now{config.grid.cells, config.precision, world.all_gather(device.info().name)};
  baseline_ = agree(world, [&] {
    Baseline baseline = parse_baseline(text, options.file);
    refuse_other_subject(baseline, now);
    return baseline;
  });
}

std::optional<BaselineVerdict> Regression::judge(const std::vector<Merit>& now) const {
  if (!baseline_) return std::nullopt;
  return isotherm::judge(*baseline_, now, tolerance_);
}

void refuse_worse(const BaselineVerdict& verdict) {
  const std::string problem = baseline_problem(verdict);
  if (problem.empty()) return;
  throw CollectiveError(verdict.changes.empty() ? ExitCode::deck : ExitCode::diverged, problem);
}

}  // namespace isotherm
