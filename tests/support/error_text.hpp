// What a call says when it rejects a deck.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace isotherm {

// What `work` says when it rejects with this code; "no error" where it does not.
template <class AnError = Error, class Work>
std::string error_text(const Work& work, ExitCode code) {
  try {
    work();
  } catch (const AnError& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "no error";
}
template <class Work>
std::string deck_error(const Work& work) {
  return error_text(work, ExitCode::deck);
}
template <class AnError = Error, class Work>
std::string refusal(const Work& work, ExitCode code) {
  const std::string text = error_text<AnError>(work, code);
  EXPECT_NE(text, "no error");
  return text;
}

// A message: place, key and what is wrong. How it goes on is a matter of wording.
inline void expect_start(std::string_view text, std::string_view start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << text;
}

inline void expect_says(std::string_view text, std::string_view part) {
  EXPECT_NE(text.find(part), text.npos) << text;
}

}  // namespace isotherm
