// Texts, numbers and names: as they are printed, and as decks write them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <random>

#include "config/text.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

TEST(Text, BytesHaveBinaryUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(1048575), "1.00 MiB");  // not 1024.00 KiB
  EXPECT_EQ(human_bytes(2147483648.0), "2.00 GiB");
  EXPECT_EQ(human_bytes(9223372036854775807.0), "8.00 EiB");
  EXPECT_EQ(human_bytes(1e30), "867361737988.40 EiB");
}

TEST(Text, DurationsChangeUnitWithoutAGap) {
  EXPECT_EQ(human_duration(0), "0 s");
  EXPECT_EQ(human_duration(12.34e-6), "12.3 us");
  EXPECT_EQ(signed_duration(12.34e-6), "12.3 us");
  EXPECT_EQ(signed_duration(-12.34e-6), "-12.3 us");
  EXPECT_EQ(human_duration(0.000999), "999 us");
  EXPECT_EQ(human_duration(0.0009996), "1 ms");
  EXPECT_EQ(human_duration(0.8124), "812 ms");
  EXPECT_EQ(human_duration(0.9996), "1.00 s");
  EXPECT_EQ(human_duration(9.996), "10.0 s");
  EXPECT_EQ(human_duration(59.94), "59.9 s");
  EXPECT_EQ(human_duration(59.96), "1 min 00 s");
  EXPECT_EQ(human_duration(125), "2 min 05 s");
  EXPECT_EQ(human_duration(3599.6), "1 h 00 min");
  EXPECT_EQ(human_duration(3 * 86400 + 4.5 * 3600), "3 d 04 h");
  EXPECT_EQ(human_duration(-1), "unknown");
  EXPECT_EQ(human_duration(nan), "unknown");
  EXPECT_EQ(human_duration(infinity), "unknown");
  EXPECT_EQ(human_duration(1e300), "for ever");
}

TEST(Text, Rates) {
  EXPECT_EQ(human_rate(1.2344e9), "1.234 GPts/s");
  EXPECT_EQ(human_rate(12.34e6), "12.3 MPts/s");
  EXPECT_EQ(human_rate(1234), "1.23 kPts/s");
  EXPECT_EQ(human_rate(0), "0 kPts/s");
  EXPECT_EQ(human_rate(nan), "unknown");
}

TEST(Text, GroupsOfThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-123456), "-123 456");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::max()), "9 223 372 036 854 775 807");
  EXPECT_EQ(extent_text({17, 23, 31}), "17 x 23 x 31");
}

TEST(Text, PlainDecimalsNeverHaveAnExponentNorLoseTheNumber) {
  EXPECT_EQ(plain_decimal(123.4561, 3), "123.456");
  EXPECT_EQ(plain_decimal(4321, 1), "4321.0");
  EXPECT_EQ(plain_decimal(0.812, 3), "0.812");
  EXPECT_EQ(plain_decimal(0.0000123456, 3), "0.0000123");
  EXPECT_EQ(plain_decimal(1e22, 1), "10000000000000000000000.0");
  EXPECT_EQ(plain_decimal(1e-300, 1), "0.000000000000000");
  EXPECT_EQ(plain_decimal(0, 1), "0.0");
  EXPECT_EQ(plain_decimal(-3.14159, 2), "-3.14");
  EXPECT_EQ(plain_decimal(nan, 1), "nan");
  EXPECT_EQ(plain_decimal(-infinity, 1), "-inf");
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

TEST(Text, UtcNowHasTheFormOfIso8601) {
  const std::string now = utc_now();
  ASSERT_EQ(now.size(), 20u);
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

// A facet of our own stands for de_DE, which a machine need not have; where it has one, that too.
struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Text, LocaleWithCommaDecimalsChangesNothing) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
  const char* c_locale = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(fmt::format("{}", 1234.5), "1234.5");
  EXPECT_EQ(plain_decimal(1234.5, 1), "1234.5");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_rate(1.5e9), "1.500 GPts/s");
  EXPECT_EQ(human_duration(1.5), "1.50 s");
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  RecordProperty("c_locale", c_locale ? c_locale : "no de_DE here: facet only");
}

TEST(Text, AShellWordIsItsText) {
  EXPECT_EQ(shell_word("runs/a.yaml"), "runs/a.yaml");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's\n\x1b[2J\\"), "$'it\\'s\\n\\x1b[2J\\\\'");
}

// Numbers and names as decks write them.

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
