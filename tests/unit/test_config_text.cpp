// Numbers and names as decks write them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "config/text.hpp"

namespace isotherm {
namespace {

struct NumberCase {
  const char* text;
  double value;
};

TEST(ConfigNumbers, PlainNumbersAreRead) {
  for (const auto& [text, value] : {NumberCase{"0", 0},
                                    {"-0.5", -0.5},
                                    {"+8", 8},
                                    {".5", 0.5},
                                    {"5.", 5},
                                    {"1e3", 1e3},
                                    {"1E-3", 1e-3},
                                    {"-1.5e+2", -150},
                                    {"0.1", 0.1},
                                    {"1e-06", 1e-6}}) {
    const auto number = parse_real(text);
    EXPECT_TRUE(number.is_number && number.problem.empty()) << text << ": " << number.problem;
    EXPECT_EQ(number.value, value) << text;
  }
}

TEST(ConfigNumbers, OtherTextIsNoNumber) {
  for (const char* text : {"", "-", ".", "abc", "12abc", "10 m", "x+1", "2*3", "1 2", "e5", "--1", "1-2"})
    EXPECT_FALSE(parse_real(text).is_number) << text;
}

struct ProblemCase {
  const char *text, *problem, *advice;
};

TEST(ConfigNumbers, AlmostNumbersSayWhatWasMeant) {
  for (const auto& [text, problem, advice] : {
           ProblemCase{"010", "'010' has a leading zero (octal for some YAML readers)", "write 10"},
           {"-007", "'-007' has a leading zero (octal for some YAML readers)", "write -7"},
           {"00.5", "'00.5' has a leading zero (octal for some YAML readers)", "write 0.5"},
           {"00", "'00' has a leading zero (octal for some YAML readers)", "write 0"},
           {"0x10", "'0x10' is not decimal", "write it as a decimal number"},
           {"0o17", "'0o17' is not decimal", "write it as a decimal number"},
           {"1d-3", "'1d-3' is not a number", "write 1e-3"},
           {"-2.5D4", "'-2.5D4' is not a number", "write -2.5e4"},
           {"1,5", "'1,5' is not a number", "write 1.5"},
           {"1_000", "'1_000' is not a number", "write 1000"},
           {".nan", "'.nan' is not a finite number", ""},
           {"-.inf", "'-.inf' is not a finite number", ""},
           {"Infinity", "'Infinity' is not a finite number", ""},
           {"1e400", "'1e400' does not fit a 64-bit float", ""},
           {"1e-400", "'1e-400' does not fit a 64-bit float", ""},
       }) {
    const auto number = parse_real(text);
    EXPECT_TRUE(number.is_number) << text;
    EXPECT_EQ(number.problem, problem);
    EXPECT_EQ(number.advice, advice);
  }
}

TEST(ConfigNumbers, CountsAreWhole) {
  EXPECT_EQ(parse_count("1e3").value, 1000);
  EXPECT_EQ(parse_count("1.5e3").value, 1500);
  EXPECT_EQ(parse_count("64.0").value, 64);
  EXPECT_EQ(parse_count("9223372036854775807").value, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_count("1.5").problem, "'1.5' is not a whole number");
  EXPECT_EQ(parse_count("1e-1").problem, "'1e-1' is not a whole number");
  EXPECT_EQ(parse_count("9223372036854775808").problem, "'9223372036854775808' is too large");
  EXPECT_EQ(parse_count("010").advice, "write 10");
}

TEST(ConfigNumbers, ShortestTextReadsBackToTheSameBits) {
  EXPECT_EQ(shortest(1e12), "1e12");
  EXPECT_EQ(shortest(1e-6), "1e-6");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1e300), "1e300");
  EXPECT_EQ(shortest(1234567), "1234567");
  EXPECT_EQ(shortest(9007199254740993.0), "9007199254740992");
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isnormal(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(parse_real(shortest(value)).value),
              std::bit_cast<std::uint64_t>(value))
        << shortest(value);
  }
}

TEST(ConfigText, Utf8IsCheckedByTheRules) {
  for (const char* good : {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x94\xA5"})
    EXPECT_EQ(utf8_length(good), std::string_view(good).size());
  for (const char* bad : {"\x80", "\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xF0\x9F\x94"})
    EXPECT_EQ(utf8_length(bad), 0u);
}

TEST(ConfigText, MessagesCannotSteerATerminal) {
  EXPECT_EQ(printable("a\x1B[31m\n\x7F"), "a\\x1B[31m\\x0A\\x7F");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xC2\\x9B31m");
  EXPECT_EQ(printable("\xFF"), "\\xFF");
  EXPECT_EQ(printable("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(printable(std::string(61, 'a')), std::string(60, 'a') + "...");
}

TEST(ConfigText, NearestWordIsWithinAFewEdits) {
  const std::vector<std::string_view> words{"kernel", "reduction", "depth", "steps", "end_time"};
  EXPECT_EQ(nearest_word("kernal", words), "kernel");
  EXPECT_EQ(nearest_word("setps", words), "steps");
  EXPECT_EQ(nearest_word("Depth", words), "depth");
  EXPECT_EQ(nearest_word("endtime", words), "end_time");
  EXPECT_EQ(nearest_word("colour", words), "");
  EXPECT_EQ(nearest_word(std::string(1000, 'k'), words), "");
}

}  // namespace
}  // namespace isotherm
