#include "solver/rows.hpp"

#include <fmt/format.h>

#include <string>

#include "core/error.hpp"

namespace isotherm {
namespace {

// What `auto` takes: the fastest row that this version knows of, a backend.
std::string_view preferred_stencil(Backend backend) {
  return backend == Backend::host ? "openmp" : "naive";
}
std::string_view preferred_reduction(Backend backend) {
  return backend == Backend::host ? "openmp" : "warp_shuffle";
}

template <class Rows>
auto choose(const Config& config, const char* key, const Rows& rows, std::string_view name, Backend backend) {
  std::string valid;
  for (const auto& row : rows) {
    if (row.backend != backend || !row.launch) continue;
    if (row.name == name) return &row;
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", row.name);
  }
  throw Error(ExitCode::deck, fmt::format("{}: '{}' does not run on {}; use auto or one of: {}",
                                          config.at(key), name, word(backend), valid));
}

template <class Rows>
std::optional<Backend> backend_of(const Rows& rows, std::string_view name) {
  std::optional<Backend> found;
  for (const auto& row : rows) {
    if (row.name != name) continue;
    if (found && *found != row.backend) return std::nullopt;  // a word of both tables binds nothing
    found = row.backend;
  }
  return found;
}

}  // namespace

bool overlaps(Overlap choice, Backend backend, int ranks) {
  if (choice != Overlap::automatic) return choice == Overlap::on;
  return backend != Backend::host && ranks > 1;
}

template <class T>
SolverRows<T> choose_rows(const Config& config, Backend backend) {
  const SolverConfig& s = config.solver;
  return {
      choose(config, "solver.kernel", stencil_kernels<T>(),
             s.kernel == "auto" ? preferred_stencil(backend) : std::string_view(s.kernel), backend),
      choose(config, "solver.reduction", reduction_kernels<T>(),
             s.reduction == "auto" ? preferred_reduction(backend) : std::string_view(s.reduction), backend)};
}

std::optional<RequiredBackend> required_backend(const Config& config) {
  if (const auto backend = backend_of(stencil_kernels<double>(), config.solver.kernel)) {
    return RequiredBackend{*backend, "solver.kernel"};
  }
  if (const auto backend = backend_of(reduction_kernels<double>(), config.solver.reduction)) {
    return RequiredBackend{*backend, "solver.reduction"};
  }
  return std::nullopt;
}

template SolverRows<float> choose_rows<float>(const Config&, Backend);
template SolverRows<double> choose_rows<double>(const Config&, Backend);

}  // namespace isotherm
