#include "app/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "config/problems.hpp"
#include "core/text.hpp"
#include "output/records/json_value.hpp"
#include "physics/exact.hpp"

namespace isotherm {

std::optional<Verification> earlier_verification(const std::string& checkpoint, const Config& config) {
  const std::filesystem::path file(checkpoint);
  std::ifstream stream(file.parent_path() / "run.json", std::ios::binary);
  const Json record = Json::parse(stream, nullptr, false);
  try {
    const Json& found = record.at("verification");
    if (found.is_null() || !record.at("continuation").at("stopped_by").is_null()) return std::nullopt;
    if (record.at("continuation").at("newest_checkpoint") != file.filename().string()) return std::nullopt;
    const auto number = [&](const char* key) {  // null: it was not finite
      return found.at(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : found.at(key).get<double>();
    };
    Verification v;
    v.solution = found.at("solution").get<std::string>();
    v.max_error_K = number("max_error_K");
    v.l2_error_K = number("l2_error_K");
    v.tolerance_K = config.verify.tolerance;
    v.verdict = verdict(config, v);
    return v;
  } catch (const Json::exception&) {  // no record, or none of a run
    return std::nullopt;
  }
}

namespace {

// Along which verify.order counts: x, or the first axis of more than one cell.
int counted_axis(const Config& config) {
  const Int3 n = config.grid.cells;
  return n.x > 1 || n.y * n.z == 1 ? 0 : n.y > 1 ? 1 : 2;
}

// The same body with so many cells along the counted axis; the other axes in proportion, but those one cell
// thick stay so.
Config refined(const Config& config, std::int64_t cells) {
  Config level = config;
  const Int3 n = config.grid.cells;
  const int along = counted_axis(config);
  if (n.product() == 1)
    throw deck_error(config, "verify.order",
                     "a grid of a single cell has no order; give grid.cells more than one along an axis");
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] == 1) continue;  // a direction in which nothing varies
    if (n[axis] * cells % n[along] != 0) {
      throw deck_error(config, "verify.order",
                       "{} cells along {} leave {} x {} / {} along {}, not a whole number; choose cells that "
                       "are multiples of each other",
                       cells, "xyz"[along], n[axis], cells, n[along], "xyz"[axis]);
    }
    level.grid.cells[axis] = n[axis] * cells / n[along];
  }
  level.grid.lengths = spacing(config);
  for (int axis = 0; axis < 3; ++axis) (*level.grid.lengths)[axis] *= static_cast<double>(n[axis]);
  level.grid.spacing.reset();
  return level;
}

// log(e_i / e_{i+1}) / log(h_i / h_{i+1}) of the l2 errors; h is that of the axis with most cells.
double observed_order(const OrderLevel& coarse, const OrderLevel& fine) {
  const auto finest = [](Int3 n) { return static_cast<double>(std::max({n.x, n.y, n.z})); };
  return std::log(coarse.l2_error_K / fine.l2_error_K) / std::log(finest(fine.cells) / finest(coarse.cells));
}

}  // namespace

template <class T>
Verification verify(const Config& config, const Communicator& world, Solver<T>& solver) {
  const FieldView<const T> field = solver.host_field();
  const auto exact = make_exact(config);
  const VerificationErrors mine =
      verification_errors<T>(config, field, solver.subdomain(), *exact, solver.time());
  Verification result;
  result.solution = word(config.verify.solution);
  // MPI_MAX may drop a NaN, a sum never does.
  const double sum = world.all_reduce(mine.sum_squares, ReduceOp::sum);
  result.l2_error_K = std::sqrt(sum / static_cast<double>(config.grid.cells.product()));
  result.max_error_K = std::isfinite(sum) ? world.all_reduce(mine.max, ReduceOp::max) : sum;
  result.tolerance_K = config.verify.tolerance;
  return result;
}

std::vector<Config> cases_of(const Config& config) {
  if (config.verify.order.empty()) return {config};
  std::vector<Config> cases;
  for (const std::int64_t nx : config.verify.order) cases.push_back(refined(config, nx));
  return cases;
}

void add_level(Verification& found, const std::optional<Verification>& coarser, const Config& config,
               std::int64_t sweeps) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const OrderLevel level{config.grid.cells, sweeps,
                         transient ? std::optional(time_plan(config).dt) : std::nullopt, found.max_error_K,
                         found.l2_error_K};
  if (coarser) {
    found.levels = coarser->levels;
    found.order = coarser->order;
    found.order.push_back(observed_order(coarser->levels.back(), level));
  }
  found.levels.push_back(level);
}

std::string level_line(const Verification& found) {
  const OrderLevel& level = found.levels.back();
  std::string line = fmt::format("{:<18} max error {:.4e} K  l2 error {:.4e} K", extent_text(level.cells),
                                 level.max_error_K, level.l2_error_K);
  if (!found.order.empty()) line += fmt::format("  order {:.4f}", found.order.back());
  return line;
}

Verdict verdict(const Config& config, const Verification& v) {
  const VerifyConfig& asked = config.verify;
  if (!std::isfinite(v.max_error_K)) return Verdict::failed;
  if (v.tolerance_K && !(v.max_error_K <= *v.tolerance_K)) return Verdict::failed;
  if (!v.order.empty()) {
    // Of the finest pair: the coarse ones need not be in the asymptotic range.
    return std::abs(v.order.back() - asked.expected_order) <= asked.order_tolerance ? Verdict::passed
                                                                                    : Verdict::failed;
  }
  return v.tolerance_K ? Verdict::passed : Verdict::reported;
}

template Verification verify<float>(const Config&, const Communicator&, Solver<float>&);
template Verification verify<double>(const Config&, const Communicator&, Solver<double>&);

}  // namespace isotherm
