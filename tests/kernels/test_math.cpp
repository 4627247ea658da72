// The functions of formulas, and exact sums, against MPFR. ISOTHERM_MATH_POINTS=10000000 takes as many points
// of each function.
#include <mpfr.h>

#include <bit>
#include <cstdlib>

#include "kernels/long_accumulator.hpp"
#include "kernels/math/exp.hpp"
#include "kernels/math/inverse_hyperbolic.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/trigonometry.hpp"
#include "support.hpp"

namespace isotherm {
namespace {

std::int64_t points() {
  const char* const asked = std::getenv("ISOTHERM_MATH_POINTS");
  return asked ? std::atoll(asked) : 20000;
}

class Exact {
 public:
  explicit Exact(double value = 0, int bits = 200) {
    mpfr_init2(number_, bits);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  ~Exact() { mpfr_clear(number_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  mpfr_t& operator*() { return number_; }

 private:
  mpfr_t number_;
};

// The distance of `found` from the exact value, in units in the last place.
double distance(double found, Exact& exact) {
  const double rounded = mpfr_get_d(*exact, MPFR_RNDN);
  if (std::isnan(rounded) || std::isnan(found))
    return std::isnan(rounded) == std::isnan(found) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(found)) return rounded == found ? 0 : INFINITY;
  const double size = std::abs(rounded),
               unit = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  Exact error;
  mpfr_sub_d(*error, *exact, found, MPFR_RNDN);
  return std::abs(mpfr_get_d(*error, MPFR_RNDN)) / unit;
}

// Arguments: most of moderate size, some with any exponent, some next to a multiple of pi/2 or to 1.
double argument(Random& random, double least, double most) {
  switch (random.between(0, 3)) {
    case 0:
      return random.between(least, most);
    case 1: {
      const double any =
          std::ldexp(random.between(1.0, 2.0), random.between(-1074, 1023)) * (random.coin() ? 1 : -1);
      return any >= least && any <= most ? any : random.between(least, most);
    }
    case 2: {
      const double near = (random.coin() ? 1 : random.between(1, 100) * 1.5707963267948966) +
                          std::ldexp(random.between(-1.0, 1.0), random.between(-52, -1));
      return near >= least && near <= most ? near : random.between(least, most);
    }
    default:
      return random.between(std::max(least, -20.0), std::min(most, 20.0));
  }
}

struct Function {
  const char* name;
  double (*ours)(double x, double y);   // a function of one number ignores y
  void (*exact)(mpfr_t& x, mpfr_t& y);  // replaces x by the result
  double least, most, allowed;          // range of x; units in the last place
  bool of_two = false;
};
constexpr double largest = std::numeric_limits<double>::max();
template <auto ours, auto exact>
Function of_one(const char* name, double least, double most, double allowed) {
  return {name,
          [](double x, double) { return ours(x); },
          [](mpfr_t& x, mpfr_t&) { exact(x, x, MPFR_RNDN); },
          least,
          most,
          allowed};
}
template <auto ours, auto exact>
Function of_two(const char* name) {
  return {name, ours, [](mpfr_t& x, mpfr_t& y) { exact(x, x, y, MPFR_RNDN); }, -largest, largest, 1, true};
}
const Function functions[] = {
    of_one<math::exp, mpfr_exp>("exp", -750, 710, 1),
    of_one<math::sinh, mpfr_sinh>("sinh", -711, 711, 1),
    of_one<math::cosh, mpfr_cosh>("cosh", -711, 711, 1),
    of_one<math::tanh, mpfr_tanh>("tanh", -30, 30, 1),
    of_one<math::erf, mpfr_erf>("erf", -7, 7, 1),
    of_one<math::log, mpfr_log>("log", 0, largest, 1),
    of_one<math::log2, mpfr_log2>("log2", 0, largest, 1),
    of_one<math::log10, mpfr_log10>("log10", 0, largest, 1),
    of_one<math::cbrt, mpfr_cbrt>("cbrt", -largest, largest, 1),
    of_one<math::sin, mpfr_sin>("sin", -0x1p30, 0x1p30, 1),
    of_one<math::cos, mpfr_cos>("cos", -0x1p30, 0x1p30, 1),
    of_one<math::tan, mpfr_tan>("tan", -0x1p30, 0x1p30, 1),
    of_one<math::asin, mpfr_asin>("asin", -1, 1, 1),
    of_one<math::acos, mpfr_acos>("acos", -1, 1, 1),
    of_one<math::atan, mpfr_atan>("atan", -largest, largest, 1),
    of_one<math::asinh, mpfr_asinh>("asinh", -largest, largest, 3),
    of_one<math::acosh, mpfr_acosh>("acosh", 1, largest, 3),
    of_one<math::atanh, mpfr_atanh>("atanh", -1, 1, 3),
    of_two<math::pow, mpfr_pow>("pow"),
    of_two<math::atan2, mpfr_atan2>("atan2"),
};

TEST(Math, FunctionsAreExactToAUnitInTheLastPlace) {
  Random random;
  for (const Function& function : functions) {
    double worst = 0, first = 0, second = 0;
    for (std::int64_t i = 0; i < points(); ++i) {
      double x = argument(random, function.least, function.most), y = argument(random, -1000, 1000);
      if (function.of_two && i % 3 == 0) x = random.between(0.0, 10.0);
      if (i % 5 == 0) y = std::round(y);
      Exact a(x), b(y);
      function.exact(*a, *b);
      const double error = distance(function.ours(x, y), a);
      if (error > worst || std::isnan(error)) worst = error, first = x, second = y;
    }
    EXPECT_LE(worst, function.allowed) << function.name << " of " << first << " and " << second;
    if (points() > 1000000) printf("%s: %.3f ulp at %a, %a\n", function.name, worst, first, second);
  }
}

// C's own functions have the same special values.
TEST(Math, SpecialValuesAreThoseOfC) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, inf, -inf, nan, 1e-320, 5e300, -5e300};
  const auto same = [](double a, double b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  for (const double x : special) {
    EXPECT_TRUE(same(math::exp(x), std::exp(x)) || std::abs(x) < 800) << x;
    EXPECT_TRUE(same(math::tanh(x), std::tanh(x)) || std::abs(x) < 20) << x;
    EXPECT_TRUE(same(math::erf(x), std::erf(x)) || std::abs(x) < 7) << x;
    EXPECT_EQ(std::isnan(math::log(x)), std::isnan(std::log(x))) << x;
    EXPECT_EQ(math::log(x) == -inf, x == 0) << x;
    EXPECT_TRUE(same(math::cbrt(x), std::cbrt(x)) || std::isfinite(x)) << x;
    EXPECT_TRUE(x != 0 || same(math::sin(x), x)) << x;
    EXPECT_TRUE(x != 0 || same(math::atan(x), x)) << x;
    EXPECT_TRUE(std::abs(x) <= 0x1p30 || std::isnan(math::sin(x))) << x;
    for (const double y : special) {
      EXPECT_TRUE(same(math::pow(x, y), std::pow(x, y)) || std::isfinite(math::pow(x, y))) << x << " " << y;
      EXPECT_TRUE(same(math::atan2(x, y), std::atan2(x, y)) || std::isfinite(math::atan2(x, y)))
          << x << " " << y;
    }
  }
  EXPECT_EQ(math::exp(0), 1);
  EXPECT_EQ(math::log(1), 0);
  EXPECT_EQ(math::cbrt(-27), -3);
  EXPECT_EQ(math::pow(3, 5), 243);
  EXPECT_EQ(math::pow(-2, 3), -8);
  EXPECT_EQ(math::sin(0), 0);
  EXPECT_EQ(math::cos(0), 1);
}

TEST(LongAccumulator, RoundsOnceAsMpfrDoes) {
  Random random;
  for (int trial = 0; trial < 2000; ++trial) {
    LongAccumulator sum{};
    Exact exact(0, 2200);  // every bit of a double, and carries
    for (const double value : test::hostile_values(random)) {
      sum.add(value);
      mpfr_add_d(*exact, *exact, value, MPFR_RNDN);
    }
    ASSERT_TRUE(test::same_bits(sum.rounded(), mpfr_get_d(*exact, MPFR_RNDN))) << "trial " << trial;
  }
}

}  // namespace
}  // namespace isotherm
