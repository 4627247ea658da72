// The messages of calls that reject a deck.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace isotherm {

// The message of the error that `work` throws, which must have this code; "no error" if it throws none.
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

// A message starts with place, key and problem. The rest is a matter of wording and is not tested.
inline void expect_start(std::string_view text, std::string_view start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << text;
}

// The one text of a list, such as that of the warnings.
inline std::string only_text(const std::vector<std::string>& texts) {
  EXPECT_EQ(texts.size(), 1u);
  return texts.empty() ? "" : texts.front();
}

inline void expect_says(std::string_view text, std::string_view part) {
  EXPECT_NE(text.find(part), text.npos) << text;
}

}  // namespace isotherm
