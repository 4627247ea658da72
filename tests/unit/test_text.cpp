// Texts, numbers and names: as they are printed, and as decks write them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "config/text.hpp"
#include "core/text.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

using Texts = std::vector<std::pair<double, const char*>>;

TEST(Text, BytesHaveBinaryUnits) {
  for (const auto& [bytes, text] : Texts{{0, "0 B"},
                                         {1023, "1023 B"},
                                         {1024, "1.00 KiB"},
                                         {1048575, "1.00 MiB"},  // not 1024.00 KiB
                                         {9223372036854775807.0, "8.00 EiB"},
                                         {1e30, "867361737988.40 EiB"}})
    EXPECT_EQ(human_bytes(bytes), text);
}

TEST(Text, DurationsChangeUnitWithoutAGap) {
  const Texts durations{{0, "0 s"},          {12.34e-6, "12.3 us"},  {0.000999, "999 us"},
                        {0.0009996, "1 ms"}, {0.8124, "812 ms"},     {0.9996, "1.00 s"},
                        {9.996, "10.0 s"},   {59.94, "59.9 s"},      {59.96, "1 min 00 s"},
                        {125, "2 min 05 s"}, {3599.6, "1 h 00 min"}, {3 * 86400 + 4.5 * 3600, "3 d 04 h"},
                        {-1, "unknown"},     {nan, "unknown"},       {infinity, "unknown"},
                        {1e300, "for ever"}};
  for (const auto& [seconds, text] : durations) EXPECT_EQ(human_duration(seconds), text);
  EXPECT_EQ(signed_duration(12.34e-6), "12.3 us");
  EXPECT_EQ(signed_duration(-12.34e-6), "-12.3 us");
}

TEST(Text, RatesAndGroupsOfThreeDigits) {
  const Texts rates{{1.2344e9, "1.234 GPts/s"},
                    {12.34e6, "12.3 MPts/s"},
                    {1234, "1.23 kPts/s"},
                    {0, "0 kPts/s"},
                    {nan, "unknown"}};
  for (const auto& [rate, text] : rates) EXPECT_EQ(human_rate(rate), text);
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-123456), "-123 456");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::max()), "9 223 372 036 854 775 807");
}

TEST(Text, PlainDecimalsNeverHaveAnExponentNorLoseTheNumber) {
  EXPECT_EQ(plain_decimal(123.4561, 3), "123.456");
  EXPECT_EQ(plain_decimal(4321, 1), "4321.0");
  EXPECT_EQ(plain_decimal(0.0000123456, 3), "0.0000123");
  EXPECT_EQ(plain_decimal(-3.14159, 2), "-3.14");
  const Texts decimals{{1e22, "10000000000000000000000.0"},
                       {1e-300, "0.000000000000000"},
                       {0, "0.0"},
                       {nan, "nan"},
                       {-infinity, "-inf"}};
  for (const auto& [value, text] : decimals) EXPECT_EQ(plain_decimal(value, 1), text);
}

TEST(Text, ControlCharactersAreShownAndNeverObeyed) {
  EXPECT_EQ(escaped("runs/a b%s{}"), "runs/a b%s{}");
  EXPECT_EQ(escaped("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(escaped("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(escaped(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(escaped("a\\nb"), "a\\\\nb");  // not to be mixed up with a newline
  EXPECT_EQ(escaped("Wärme"), "Wärme");
  EXPECT_EQ(in_quotes("a\n"), "'a\\n'");
}

TEST(TextTable, PadsColumnsToTheirWidestCellAndRowsMayBeShort) {
  const TextTable table{"lrl", {{"name", "n", "remark"}, {"a", "1", ""}, {"long name", "1000"}}};
  EXPECT_EQ(table.text(2),
            "  name          n  remark\n"
            "  a             1\n"
            "  long name  1000\n");
}

TEST(TextTable, AlignsByColumnsNotBytes) {
  const TextTable table{"lr", {{"name", "n"}, {"k\u00fchl", "1"}, {"\u5bd2", "2"}}};
  EXPECT_EQ(table.text(), "name  n\nk\u00fchl  1\n\u5bd2    2\n");
}

TEST(Text, AShellWordIsItsText) {
  EXPECT_EQ(shell_word("runs/a.yaml"), "runs/a.yaml");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's\n\x1b[2J\\"), "$'it\\'s\\n\\x1b[2J\\\\'");
}

// Numbers and names as decks write them.

TEST(ConfigNumbers, PlainNumbersAreRead) {
  const std::pair<const char*, double> cases[] = {
      {"0", 0},     {"-0.5", -0.5}, {"+8", 8},    {".5", 0.5},     {"5.", 5},
      {"1e3", 1e3}, {"1E-3", 1e-3}, {"0.1", 0.1}, {"1e-06", 1e-6}, {"-1.5e+2", -150}};
  for (const auto& [text, value] : cases) {
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

// Others: faults/test_deck.py.
TEST(ConfigNumbers, AlmostNumbersSayWhatWasMeant) {
  for (const auto& [text, problem, advice] : {
           ProblemCase{"-007", "'-007' has a leading zero (octal for some YAML readers)", "write -7"},
           {"00.5", "'00.5' has a leading zero (octal for some YAML readers)", "write 0.5"},
           {"00", "'00' has a leading zero (octal for some YAML readers)", "write 0"},
           {"0o17", "'0o17' is not decimal", "write it as a decimal number"},
           {"-2.5D4", "'-2.5D4' is not a number", "write -2.5e4"},
           {"1_000", "'1_000' is not a number", "write 1000"},
           {"Infinity", "'Infinity' is not a finite number", ""},
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
  Random random;
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
