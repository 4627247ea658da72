// Formulas: values compared with muParser; the same bits point by point, in rows and with every instruction
// set; messages for wrong formulas.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <muParser.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <regex>
#include <string>
#include <vector>

#include "config/expression.hpp"
#include "kernels/host/host_kernels.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

std::string number_text(Random& random) {
  return fmt::format("{:.{}g}", random.between(0.0, 9.0), random.between(1, 6));
}

std::string formula_text(Random& random, int depth) {
  const auto part = [&] { return formula_text(random, depth - 1); };
  if (depth == 0) {
    static constexpr const char* leaves[] = {"x", "y", "z", "t", "pi"};
    return random.coin() ? number_text(random) : leaves[random.between(0, 4)];
  }
  switch (random.between(0, 9)) {
    case 0:
      return fmt::format("({})", part());
    case 1:
      return fmt::format("(-({}))", part());
    case 2:
      return fmt::format("{} ^ {}", part(), random.between(0, 3));
    case 3:
      return fmt::format("x < {} ? {} : {}", number_text(random), part(), part());
    case 4: {
      static constexpr const char* functions[] = {"cos(3 * tanh", "sin(3 * tanh", "exp",   "tanh", "atan",
                                                  "abs",          "sqrt",         "ln",    "sinh", "cosh",
                                                  "asinh",        "sign",         "log10", "log2"};
      const std::string function = functions[random.between(0, 13)];  // with small arguments
      return fmt::format("{}({}){}", function, part(), function.find('(') == function.npos ? "" : ")");
    }
    case 5:
      return fmt::format("{}({}, {}, {})", random.coin() ? "min" : "avg", part(), part(), part());
    case 6:
      return fmt::format("(y >= {} && z != t) * {}", number_text(random), part());
    default:
      return fmt::format("{} {} {}", part(), "+-*/"[random.between(0, 3)], part());
  }
}

bool are_close(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b || std::abs(a - b) <= 1e-7 * (1 + std::abs(a));
}

TEST(Formula, HasTheValuesOfMuParser) {
  Random random;
  double at[4];
  mu::Parser parser;
  for (int i = 0; i < 4; ++i) parser.DefineVar(std::string(1, "xyzt"[i]), &at[i]);
  parser.DefineConst("pi", std::numbers::pi);
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = formula_text(random, random.between(1, 3));
    const Expression formula(text, "xyzt");
    parser.SetExpr(text);
    for (int k = 0; k < 4; ++k) {
      for (double& each : at) each = random.between(0.1, 3.0);
      double theirs = std::nan("");
      try {
        theirs = parser.Eval();
      } catch (const mu::Parser::exception_type&) {
      }
      const double ours = formula(at[0], at[1], at[2], at[3]);
      // After cancellation only the rounding errors of functions remain.
      // muParser does not return infinity for asinh of an overflowing argument.
      // Its sign and min hide a NaN.
      if (std::abs(theirs) > 1e12 || (std::isnan(theirs) && std::isinf(ours))) continue;
      if (std::isnan(ours) && std::regex_search(text, std::regex("sign|min"))) continue;
      EXPECT_TRUE(are_close(theirs, ours))
          << text << " at " << fmt::format("{} {} {} {}", at[0], at[1], at[2], at[3]) << ": " << theirs
          << ", " << ours;
      ++compared;
    }
  }
  EXPECT_GT(compared, 5000);
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> all;
  for (const double value : values)
    all.push_back(std::isnan(value) ? 1 : std::bit_cast<std::uint64_t>(value));
  return all;
}

TEST(Formula, HasTheSameBitsByPointsAndByRowsOnEveryInstructionSet) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    std::string text = formula_text(random, 3);
    if (i % 4 == 0)
      text = fmt::format("erf({}) + pow(abs(z), {}) * atan2(x, {}) + acos(x / 10)", text, text, text);
    SCOPED_TRACE(text);
    const Expression formula(text, "xyzt");
    const auto count = static_cast<std::size_t>(random.between(1, 400));
    std::vector<double> x, y, rows(count), single;
    const double z = random.between(-2.0, 2.0), t = random.between(0.0, 9.0);
    for (std::size_t k = 0; k < count; ++k) {
      x.push_back(random.between(-3.0, 3.0));
      y.push_back(random.between(-3.0, 3.0));
      single.push_back(formula(x[k], y[k], z, t));
    }
    const FormulaPoints points{{{x.data(), true}, {y.data(), true}, {&z}, {&t}}, static_cast<Index>(count)};
    formula.evaluate(points, rows.data());
    EXPECT_EQ(bits(rows), bits(single));
    for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::v3, InstructionSet::v4}) {
      if (!host::BuiltTags::have(set) || set > instruction_set()) continue;
      std::vector<FormulaSlot> stack(static_cast<std::size_t>(formula.program()->depth));
      host::for_instruction_set(set, [&](auto isa) {
        const auto& steps = formula.program()->steps;
        host::run_formula<decltype(isa)>(steps.data(), std::ssize(steps), points, stack.data(), rows.data());
      });
      EXPECT_EQ(bits(rows), bits(single)) << static_cast<int>(set);
    }
  }
}

TEST(Formula, OperatorsBindAsWritten) {
  const auto value = [](const char* text) { return Expression(text, "xyzt")(2, 3, 5, 7); };
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("2^-1"), 0.5);
  EXPECT_EQ(value("8/4/2"), 1);
  EXPECT_EQ(value("x - y - z"), -6);
  EXPECT_EQ(value("1 + x < y and not (y > z) ? 1e1 : 2"), 2);
  EXPECT_EQ(value("0 || 1 && 0 ? 1 : x == 2 ? 4 : 5"), 4);
  EXPECT_EQ(value("if(!(x > 1), y, sum(x, y, .5))"), 5.5);
  EXPECT_EQ(value("max(1, min(x, y), 0) + avg(1, 2, 3, 6)"), 5);
  EXPECT_EQ(value("round(2.5) + rint(2.5) + floor(-0.5) + ceil(0.2) + sign(-3)"), 4);
  EXPECT_EQ(value("(not x) < y and ((!x) == 0) + not (x < y) == 1"), 1);
  EXPECT_EQ(value(" ( ( x ) ) "), 2);
  EXPECT_EQ(value("(1 < x) < z and x < (y <= z) + 2"), 1);
  EXPECT_EQ(value("1e400"), HUGE_VAL);
  EXPECT_EQ(value("1e-400 + .5 + 1."), 1.5);
  EXPECT_EQ(Expression("2*pi + exp(0)", "x").program()->steps.size(), 1u);  // constants are folded
}

// A function that hides a NaN would hide it from the checks of a deck too.
TEST(Formula, NoFunctionHidesNaN) {
  for (const char* text : {"max(t, 3)", "max(3, t)", "min(t, 3)", "min(3, t)", "sign(t)", "not t", "t and 1",
                           "0 and t", "t or 0", "1 or t", "if(t, 1, 2)"})
    EXPECT_TRUE(std::isnan(Expression(text, "t")(0, 0, 0, std::nan("")))) << text;
  EXPECT_EQ(Expression("if(x, 2, t)", "xt")(1, 0, 0, std::nan("")), 2);
}

TEST(Formula, ErrorsGiveTheProblemAndThePosition) {
  const auto expect = [](const std::string& text, const std::string& problem, std::size_t position) {
    try {
      Expression(text, "xt");
      ADD_FAILURE() << text;
    } catch (const FormulaError& error) {
      EXPECT_EQ(error.problem, problem) << text;
      EXPECT_EQ(error.position, position) << text;
    }
  };
  expect("", "unexpected end of expression", 0);
  expect("2*", "unexpected end of expression", 2);
  expect("2*(x+1", "missing parenthesis", 6);
  expect("x+1)", "unexpected ')'", 3);
  expect("x + y", "unknown name 'y'", 4);
  expect("frob(x)", "unknown name 'frob'", 0);
  expect("1 + sin(x, t)", "sin takes 1 value, not 2", 4);
  expect("x ? 1", "missing ':'", 5);
  expect("2x", "unexpected 'x' (multiply with '*')", 1);
  expect("(t)(x)", "unexpected '(' (multiply with '*')", 3);
  expect("1 + x(2)", "'x' is no function (multiply with '*')", 4);
  expect("pi(2)", "'pi' is no function (multiply with '*')", 0);
  expect("y(2)", "unknown name 'y'", 0);
  expect("PI", "unknown name 'PI' (did you mean 'pi'?)", 0);
  expect("IF(x, 1, 2)", "unknown name 'IF' (did you mean 'if'?)", 0);
  expect("T(2)", "'T' is no variable (what depends on the temperature is not available in this version)", 0);
  expect("x\u00b2", "unexpected '\u00b2' (not an ASCII character)", 1);
  expect("2 \u2212x", "unexpected '\u2212' (not an ASCII character)", 2);
  expect("0.02 < x < 0.05", "second comparison (write 0.02 < x and x < 0.05)", 9);
  expect("1 and not x < t", "comparison after not (write not (x < 0.2))", 12);
  expect("!x + 1 == t", "comparison after not (write not (x < 0.2))", 7);
  expect("300 + tanh", "'tanh' is a function (write tanh(...))", 6);
  expect("2 x", "unexpected 'x'", 2);
  std::string deep = "x";
  for (int i = 0; i < 192; ++i) deep = "x + (" + deep + ")";
  expect(deep, "more than 192 values on the stack at once", 0);
  expect(std::string(2000, '-') + "x", "more than 400 nested parts", 400);
}

}  // namespace
}  // namespace isotherm
