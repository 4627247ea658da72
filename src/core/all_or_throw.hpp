// Makes a failure of one rank a failure of all, with one message, while every rank can still leave in order.
#pragma once

#include <fmt/format.h>

#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "core/communicator.hpp"
#include "core/error.hpp"

namespace isotherm {

// What went wrong on this rank, or nothing.
struct Failure {
  bool failed = false;
  ExitCode code = ExitCode::done;
  std::string message;
};

// Collective. Throws CollectiveError with the text of the lowest rank that failed; returns when none has.
void throw_if_any_failed(const Communicator& communicator, const Failure& mine);

// Runs `work` and returns what it returns, on every rank or on none. `work` must not communicate over
// `communicator` after it may have failed on one rank only.
template <class Work>
auto all_or_throw(const Communicator& communicator, Work&& work) {
  using Result = decltype(work());
  auto guarded = [&](auto&& body) {
    Failure failure;
    try {
      body();
    } catch (const Error& e) {
      failure = {true, e.code(), e.what()};
    } catch (const std::bad_alloc&) {
      failure = {true, ExitCode::memory, "out of host memory; use a smaller grid, fp32 or more ranks"};
    } catch (const std::exception& e) {
      failure = {true, ExitCode::internal, fmt::format("unexpected error ({}); please report it", e.what())};
    }
    throw_if_any_failed(communicator, failure);
  };
  if constexpr (std::is_void_v<Result>) {
    guarded([&] { work(); });
  } else {
    std::optional<Result> result;
    guarded([&] { result.emplace(work()); });
    return std::move(*result);
  }
}

}  // namespace isotherm
