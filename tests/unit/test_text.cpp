// Texts, numbers and names, as printed and as written in decks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "config/text.hpp"
#include "core/communicator.hpp"
#include "core/text.hpp"
#include "output/console/console.hpp"
#include "support/error_text.hpp"
#include "support/repeat.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

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
  const Texts durations{{0, "0 s"},          {12.34e-6, "12.3 us"},     {0.000999, "999 us"},
                        {0.0009996, "1 ms"}, {0.8124, "812 ms"},        {0.9996, "1.00 s"},
                        {9.996, "10.0 s"},   {59.94, "59.9 s"},         {59.96, "1 min 00 s"},
                        {125, "2 min 05 s"}, {3599.6, "1 h 00 min"},    {3 * 86400 + 4.5 * 3600, "3 d 04 h"},
                        {-1, "unknown"},     {not_a_number, "unknown"}, {infinity, "unknown"},
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
                    {not_a_number, "unknown"}};
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
                       {not_a_number, "nan"},
                       {-infinity, "-inf"}};
  for (const auto& [value, text] : decimals) EXPECT_EQ(plain_decimal(value, 1), text);
}

TEST(Text, ControlCharactersAreEscaped) {
  EXPECT_EQ(escaped("runs/a b%s{}"), "runs/a b%s{}");
  EXPECT_EQ(escaped("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(escaped("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(escaped(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(escaped("a\\nb"), "a\\\\nb");  // distinct from a newline
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

TEST(Text, AShellWordExpandsToItsText) {
  EXPECT_EQ(shell_word("runs/a.yaml"), "runs/a.yaml");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's\n\x1b[2J\\"), "$'it\\'s\\n\\x1b[2J\\\\'");
}

TEST(ConfigNumbers, PlainNumbersAreRead) {
  const std::pair<const char*, double> cases[] = {
      {"0", 0},     {"-0.5", -0.5}, {"+8", 8},    {".5", 0.5},     {"5.", 5},
      {"1e3", 1e3}, {"1E-3", 1e-3}, {"0.1", 0.1}, {"1e-06", 1e-6}, {"-1.5e+2", -150}};
  for (const auto& [text, value] : cases) {
    const auto number = parse_number(text);
    EXPECT_TRUE(number.is_number && number.problem.empty()) << text << ": " << number.problem;
    EXPECT_EQ(number.value, value) << text;
  }
}

TEST(ConfigNumbers, OtherTextIsNoNumber) {
  for (const char* text : {"", "-", ".", "abc", "12abc", "10 m", "x+1", "2*3", "1 2", "e5", "--1", "1-2"})
    EXPECT_FALSE(parse_number(text).is_number) << text;
}

struct ProblemCase {
  const char *text, *problem, *advice;
};

// faults/test_deck.py tests further cases.
TEST(ConfigNumbers, AlmostNumbersSayWhatWasMeant) {
  for (const auto& [text, problem, advice] : {
           ProblemCase{"-007", "'-007' has a leading zero (octal for some YAML readers)", "write -7"},
           {"00.5", "'00.5' has a leading zero (octal for some YAML readers)", "write 0.5"},
           {"00", "'00' has a leading zero (octal for some YAML readers)", "write 0"},
           {"0o17", "'0o17' is not decimal", "write it as a decimal number"},
           {"-2.5D4", "'-2.5D4' is not a number", "write -2.5e4"},
           {"1_000", "'1_000' is not a number", "write 1000"},
           {"-1,5", "'-1,5' is not a number", "write -1.5"},
           {"0,125", "'0,125' is not a number", "write 0.125"},
           {"-1,000", "'-1,000' is not a number", "write -1000, or -1.000 if the comma is decimal"},
           {"1,000,000", "'1,000,000' is not a number", "write 1000000"},
           {"Infinity", "'Infinity' is not a finite number", ""},
           {"1e400", "'1e400' does not fit a 64-bit float", ""},
           {"1e-400", "'1e-400' does not fit a 64-bit float", ""},
       }) {
    const auto number = parse_number(text);
    EXPECT_TRUE(number.is_number) << text;
    EXPECT_EQ(number.problem, problem);
    EXPECT_EQ(number.advice, advice);
  }
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
    ASSERT_EQ(std::bit_cast<std::uint64_t>(parse_number(shortest(value)).value),
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

TEST(ConfigText, MessagesContainNoControlCharacters) {
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

// The text that a console of this rank writes while `run` uses it.
struct Heard {
  std::string out, err, log;
};
template <class Run>
Heard hear(int rank, Run run) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Console console(rank);
    console.open_log(folder.path() / "run.log");
    run(console, folder);
  }
  const std::string out = testing::internal::GetCapturedStdout();
  return {out, testing::internal::GetCapturedStderr(), test::read_file(folder / "run.log")};
}

TEST(Console, WritesToStdoutAndToTheLog) {
  const Heard heard = hear(0, [](Console& console, const test::TemporaryFolder& folder) {
    console.say("first %s {} %v\n");
    console.warn("look out");
    console.say("two\nlines");
    console.log_only("quiet");
    EXPECT_TRUE(test::read_file(folder / "run.log").ends_with("quiet\n"));  // at once
    EXPECT_EQ(console.warnings(), std::vector<std::string>{"look out"});
  });
  EXPECT_EQ(heard.out, "first %s {} %v\ntwo\nlines\n");
  EXPECT_EQ(heard.err, "warning: look out\n");
  EXPECT_EQ(heard.log, "first %s {} %v\nwarning: look out\ntwo\nlines\nquiet\n");
}

TEST(Console, OtherRanksOnlyWarn) {
  const Heard heard = hear(3, [](Console& console, const test::TemporaryFolder& folder) {
    console.say("hello");
    console.warn("odd");
    EXPECT_TRUE(folder.names().empty());
  });
  EXPECT_EQ(heard.out, "");
  EXPECT_EQ(heard.err, "warning: rank 3: odd\n");
}

TEST(Console, ALogThatCannotBeWrittenIsOneWarning) {
  for (const auto& [path, why] : {std::pair{"/dev/null/run.log", "run.log cannot be written ("},
                                  {"/dev/full", "No space left on device"}}) {
    Console console(0);
    console.open_log(path);
    for (int i = 0; i < 10; ++i) console.say("goes on");
    expect_says(only_text(console.warnings()), why);
  }
}

TEST(Progress, ALineIsRewrittenWhereTheTerminalCanUnlessTheUserDecides) {
  EXPECT_EQ(choose_style(ProgressStyle::automatic, true), ProgressStyle::bar);
  EXPECT_EQ(choose_style(ProgressStyle::automatic, false), ProgressStyle::lines);
  EXPECT_EQ(choose_style(ProgressStyle::bar, false), ProgressStyle::bar);
  EXPECT_EQ(choose_style(ProgressStyle::lines, true), ProgressStyle::lines);
  EXPECT_EQ(choose_style(ProgressStyle::off, true), ProgressStyle::off);
  EXPECT_FALSE(can_rewrite_lines(2));
}

TEST(Progress, EachLauncherIsDetected) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"}) unsetenv(name);
  EXPECT_FALSE(environment_names_launcher());
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"}) {
    setenv(name, "0", 1);
    EXPECT_TRUE(environment_names_launcher()) << name;
    unsetenv(name);
  }
}

ProgressState transient() {
  return {.sweep = 1200,
          .last_sweep = 10000,
          .time = 0.12,
          .residual = 3.2e-5,
          .wall = 9.75,
          .points_per_second = 1.2344e9,
          .left = {.seconds = 71.5}};
}

TEST(Progress, LineOfATransientRun) {
  EXPECT_EQ(progress_line(transient()),
            "step 1200/10000  12.0 %  ETA 1 min 12 s  1.234 GPts/s  residual 3.20e-05  t 0.12 s");
}

TEST(Progress, SteadyRunIsMeasuredOnTheWayDownToItsTolerance) {
  ProgressState s = transient();
  s.time.reset();
  s.first_residual = 1;
  s.residual = 1e-3;
  s.tolerance = 1e-6;
  s.left.seconds = 20;
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.5);
  EXPECT_EQ(progress_line(s), "step 1200/10000  50.0 %  ETA 20.0 s  1.234 GPts/s  residual 1.00e-03");
  s.sweep = 9000;  // the share of sweeps is larger than that of the tolerance
  EXPECT_DOUBLE_EQ(fraction_done(s), 0.9);
}

TEST(Progress, StrangeNumbersStayWithinBounds) {
  ProgressState s;
  EXPECT_DOUBLE_EQ(fraction_done(s), 1);  // nothing to do
  s.last_sweep = 10;
  EXPECT_EQ(progress_line(s), "step 0/10  0.0 %  ETA unknown  0 kPts/s");
  const struct {
    int sweep;
    double residual, first_residual, tolerance, fraction;
  } cases[] = {{0, -1, 0, 0, 0}, {20, -1, 0, 0, 1}, {5, not_a_number, 1, 1e-6, 0.5}, {5, 1e9, 1, 1e-6, 0.5}};
  for (const auto& c : cases) {
    s.sweep = c.sweep;
    s.residual = c.residual;
    s.first_residual = c.first_residual;
    s.tolerance = c.tolerance;
    EXPECT_DOUBLE_EQ(fraction_done(s), c.fraction) << c.sweep << " " << c.residual;
  }
}

TEST(Progress, LinesBecomeRarer) {
  LineSchedule schedule;
  std::vector<int> printed;
  for (int second = 0; second <= 800; ++second)
    if (schedule.due(second)) printed.push_back(second);
  EXPECT_EQ(printed, (std::vector<int>{10,  20,  30,  40,  50,  60,  90,  120, 150, 180, 210, 240, 270, 300,
                                       330, 360, 390, 420, 450, 480, 510, 540, 570, 600, 660, 720, 780}));
  LineSchedule late;  // missed lines are not printed later
  EXPECT_TRUE(late.due(45));
  EXPECT_FALSE(late.due(46));
  EXPECT_TRUE(late.due(50));
}

ProgressState at(double wall) {
  ProgressState s = transient();
  s.wall = wall;
  return s;
}

// Also when each grid of a series reports its progress.
TEST(Progress, LinesAreWrittenToTheLogAndOffWritesNone) {
  const auto logged = [](ProgressStyle style, const std::vector<double>& walls) {
    const auto report = [&](Console& console, const test::TemporaryFolder&) {
      Progress progress(style, console);
      for (const double wall : walls) progress.update(at(wall));
      progress.finish();
      progress.update(at(11));  // the next grid
    };
    return hear(0, report).log;
  };
  EXPECT_EQ(logged(ProgressStyle::off, {100}), "");
  EXPECT_EQ(logged(ProgressStyle::lines, {1, 12, 12}),
            progress_line(at(12)) + "\n" + progress_line(at(11)) + "\n");
}

TEST(Progress, MessagesAndTheEndEraseTheBar) {
  const auto with_bar = [](const auto& meanwhile) {
    return hear(0, [&](Console& console, const test::TemporaryFolder&) {
      Progress bar(ProgressStyle::bar, console);
      bar.update(transient());
      meanwhile(console);
    });
  };
  const std::string bar = fmt::format("\r\033[?7l{}\033[K\033[?7h", progress_line(transient()));
  const Heard heard = with_bar([](Console& console) {
    console.warn("hot");
    console.say("said");  // no bar is left to erase
  });
  EXPECT_EQ(heard.err, bar + "\r\033[Kwarning: hot\n");
  EXPECT_EQ(heard.out, "said\n");
  EXPECT_EQ(with_bar([](Console&) {}).err, bar + "\r\033[K");
}

TEST(ProgressRate, PredictsTheEndOfARunOfDaysAtItsStart) {
  ProgressRate rate;
  rate.reached(0, 3.0);
  EXPECT_FALSE(rate.sweeps_per_second());
  EXPECT_EQ(eta_text(rate.forecast(10'000'000, {})), "unknown");
  rate.reached(10, 3.1);
  EXPECT_EQ(eta_text(rate.forecast(10'000'000, {})), "unknown");  // too few sweeps so far
  rate.reached(100, 4.0);
  EXPECT_DOUBLE_EQ(*rate.sweeps_per_second(), 100);
  EXPECT_EQ(eta_text(rate.forecast(10'000'000, {})), "1 d 03 h");
  EXPECT_EQ(eta_text(rate.forecast(100 + 3'723 * 100, {})), "1 h 02 min");
  EXPECT_EQ(eta_text(rate.forecast(100, {})), "0 s");
  ProgressRate restarted;  // the time before the restart is unknown
  restarted.reached(900'000, 0);
  restarted.reached(900'010, 1);
  EXPECT_EQ(eta_text(restarted.forecast(1'000'000, {})), "2 h 46 min");
  ProgressRate still;  // a stopped clock does not divide by zero
  for (int sweep = 0; sweep < 5; ++sweep) still.reached(sweep, 7);
  EXPECT_FALSE(still.sweeps_per_second());
  EXPECT_EQ(eta_text(still.forecast(10, {})), "unknown");
}

TEST(ProgressRate, AdaptsToANewSpeedWithinMinutes) {
  ProgressRate rate;
  std::int64_t sweep = 0;
  double second = 0;
  rate.reached(sweep, second);
  const auto sweep_on = [&](int seconds, std::int64_t sweeps_per_second) {
    while (seconds-- > 0) rate.reached(sweep += sweeps_per_second, second += 1);
  };
  sweep_on(36'000, 100);  // ten hours
  EXPECT_NEAR(*rate.sweeps_per_second(), 100, 1e-9);
  sweep_on(600, 50);  // another job slows it down
  EXPECT_NEAR(*rate.sweeps_per_second(), 50, 1);
  EXPECT_NEAR(*rate.forecast(sweep + 50'000, {}).seconds, 1000, 20);
}

// The slowest mode decays by a constant factor per sweep; the earlier modes decay faster.
TEST(ProgressRate, SteadyRunEndsWhereItsResidualReachesTheTolerance) {
  ProgressRate rate;
  const auto residual = [](std::int64_t sweep) {
    return std::exp(-1e-3 * static_cast<double>(sweep)) + 50 * std::exp(-1e-1 * static_cast<double>(sweep));
  };
  rate.reached(0, 0);
  EXPECT_EQ(eta_text(rate.forecast(100'000, 1e-6)), "unknown");
  rate.checked(1, residual(1));
  rate.reached(100, 1);
  EXPECT_EQ(eta_text(rate.forecast(100'000, 1e-6)), "unknown, < 16 min 39 s");
  for (std::int64_t sweep = 100; sweep <= 4000; sweep += 100) {
    rate.checked(sweep, residual(sweep));
    rate.reached(sweep, static_cast<double>(sweep) / 100);
  }
  const double expected = (std::log(1e6) / 1e-3 - 4000) / 100;
  EXPECT_NEAR(*rate.forecast(100'000, 1e-6).seconds, expected, 0.05 * expected);
  EXPECT_FALSE(rate.forecast(100'000, 1e-6).misses_tolerance);
  EXPECT_EQ(eta_text(rate.forecast(10'000, 1e-6)), "1 min 00 s, unconverged");
  EXPECT_EQ(eta_text(rate.forecast(10'000, 0.0)), "unknown, < 1 min 00 s");
}

// A temperature step at a boundary: the residual first decays as 1/sweeps, and finally by the slowest mode.
TEST(ProgressRate, IsCorrectFromTheFirstForecastIfTheSlowestModeIsKnown) {
  const double slowest = 1e-5;
  const auto residual = [&](std::int64_t sweep) {
    const double n = static_cast<double>(sweep);
    return n * slowest < 1 ? 1 / n : slowest * std::exp(1 - slowest * n);
  };
  const double end = 1e5 * (1 + std::log(10.0));  // sweep at which the residual is 1e-6
  ProgressRate rate(slowest);
  rate.checked(1, residual(1));
  rate.reached(0, 0);
  rate.reached(100, 1);
  EXPECT_FALSE(rate.forecast(100'000'000, 1e-6).seconds);  // one residual gives only an upper bound
  EXPECT_NEAR(*rate.forecast(100'000'000, 1e-6).most, std::log(1e6) / slowest / 100, 2);
  for (std::int64_t sweep = 100; sweep < 300'000; sweep += 100) {
    rate.checked(sweep, residual(sweep));
    rate.reached(sweep, static_cast<double>(sweep) / 100);
    const double left = (end - static_cast<double>(sweep)) / 100;
    const Forecast forecast = rate.forecast(100'000'000, 1e-6);
    ASSERT_GT(*forecast.seconds, 0.9 * left) << sweep;
    ASSERT_LT(*forecast.seconds, 1.1 * left) << sweep;
  }
}

TEST(ProgressRate, AResidualThatDoesNotFallPredictsNoEnd) {
  ProgressRate rate;
  rate.reached(0, 0);
  for (const auto& [sweep, residual] : {std::pair{100, 1.0}, {200, 1.0}, {300, 1.5}, {300, 1e-9}})
    rate.checked(sweep, residual);  // the last sweep is repeated and must be ignored
  rate.reached(300, 3);
  EXPECT_EQ(eta_text(rate.forecast(600, 1e-6)), "unknown, < 3.00 s");
  rate.checked(400, 0);
  rate.checked(500, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(eta_text(rate.forecast(600, 1e-6)), "unknown, < 3.00 s");
}

}  // namespace
}  // namespace isotherm
