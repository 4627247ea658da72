// What a call says when it refuses a deck.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace isotherm {

template <class Work>
std::string deck_error(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::deck);
    return e.what();
  }
  return "no error";
}

}  // namespace isotherm
