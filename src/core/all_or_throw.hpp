// Turns a failure of one rank into a failure of all, with one message, so that all ranks can exit in order.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/communicator.hpp"
#include "core/error.hpp"

namespace isotherm {

// Returns the exception that is being handled, as an Error. Call it within a catch block.
Error current_error();

// Collective; `mine`: the error of this rank. Throws CollectiveError with the text of the lowest failed rank.
void throw_if_any_failed(const Communicator& communicator, const std::optional<Error>& mine);

// Returns the result of `work`, or throws on all ranks. Once it may fail, `work` must not communicate.
template <class Work>
auto all_or_throw(const Communicator& communicator, Work&& work) {
  using Result = decltype(work());
  auto guarded = [&](auto&& body) {
    std::optional<Error> failure;
    try {
      body();
    } catch (const std::exception&) {
      failure = current_error();
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

// Runs `work` on rank 0; if it fails, all ranks throw.
template <class Work>
void on_root(const Communicator& communicator, Work&& work) {
  all_or_throw(communicator, [&] {
    if (communicator.is_root()) work();
  });
}

}  // namespace isotherm
