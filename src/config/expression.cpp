// The only file that uses PEGTL: the grammar of formulas, and the compiler from its parse tree to a program.
#include "config/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/limit_depth.hpp>
#include <tao/pegtl/contrib/parse_tree.hpp>
#include <utility>

#include "config/text.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

namespace pegtl = tao::pegtl;

// Spaces may precede each token. An operator must be followed by its operand.
namespace grammar {

using namespace pegtl;

struct spaces : star<space> {};
struct keyword
    : seq<sor<string<'a', 'n', 'd'>, string<'o', 'r'>, string<'n', 'o', 't'>>, not_at<identifier_other>> {};
struct exponent : seq<one<'e', 'E'>, opt<one<'+', '-'>>, plus<digit>> {};
struct number
    : seq<sor<seq<plus<digit>, opt<one<'.'>>, star<digit>>, seq<one<'.'>, plus<digit>>>, opt<exponent>> {};
struct name : seq<not_at<keyword>, identifier> {};
struct function_name : seq<name, at<spaces, one<'('>>> {};

struct expression;
struct closing : seq<spaces, one<')'>> {};
struct comma : seq<spaces, one<','>> {};
struct call
    : if_must<function_name, spaces, one<'('>, expression, star<if_must<comma, expression>>, closing> {};
struct bracket : if_must<one<'('>, expression, closing> {};
struct primary : seq<spaces, sor<call, name, number, bracket>> {};

struct operand;
struct power : seq<primary, opt<if_must<seq<spaces, one<'^'>>, operand>>> {};
struct not_sign : sor<seq<one<'!'>, not_at<one<'='>>>, seq<string<'n', 'o', 't'>, not_at<identifier_other>>> {
};
struct negative : if_must<seq<spaces, one<'-'>>, operand> {};
struct positive : if_must<seq<spaces, one<'+'>>, operand> {};
struct inverse : if_must<seq<spaces, not_sign>, operand> {};
struct operand : sor<negative, positive, inverse, power> {};

struct product_sign : one<'*', '/'> {};
struct sum_sign : one<'+', '-'> {};
struct comparison_sign
    : sor<string<'<', '='>, string<'>', '='>, string<'=', '='>, string<'!', '='>, one<'<', '>'>> {};
struct and_sign : sor<string<'&', '&'>, seq<string<'a', 'n', 'd'>, not_at<identifier_other>>> {};
struct or_sign : sor<string<'|', '|'>, seq<string<'o', 'r'>, not_at<identifier_other>>> {};
template <class Part, class Sign>
struct chain : seq<Part, star<if_must<seq<spaces, Sign>, Part>>> {};
struct product : chain<operand, product_sign> {};
struct sum : chain<product, sum_sign> {};
struct single : not_at<comparison_sign> {};   // a < b < c would compare 0 or 1 with c
struct outside : not_at<comparison_sign> {};  // not a < b would compare 0 or 1 with b
struct comparison : sor<if_must<at<spaces, not_sign>, sum, spaces, outside>,
                        seq<sum, opt<if_must<seq<spaces, comparison_sign>, sum, spaces, single>>>> {};
struct conjunction : chain<comparison, and_sign> {};
struct disjunction : chain<conjunction, or_sign> {};
struct colon : seq<spaces, one<':'>> {};
struct expression : seq<disjunction, opt<if_must<seq<spaces, one<'?'>>, expression, colon, expression>>> {};
struct end : seq<spaces, eof> {};
struct formula : must<expression, end> {};

template <class Rule>
using kept = parse_tree::selector<
    Rule,
    parse_tree::store_content::on<number, name, function_name, product_sign, sum_sign, comparison_sign,
                                  and_sign, or_sign>,
    parse_tree::remove_content::on<call, negative, inverse>,
    parse_tree::fold_one::on<power, product, sum, comparison, conjunction, disjunction, expression>>;

template <class Rule>
inline constexpr const char* problem = nullptr;  // none: explained() quotes the text there
template <>
inline constexpr const char* problem<closing> = "missing parenthesis";
template <>
inline constexpr const char* problem<colon> = "missing ':'";
template <>
inline constexpr const char* problem<single> = "second comparison (write 0.02 < x and x < 0.05)";
template <>
inline constexpr const char* problem<outside> = "comparison after not (write not (x < 0.2))";
struct problems {
  template <class Rule>
  static constexpr const char* message = problem<Rule>;
};
template <class Rule>
using control = must_if<problems, normal, false>::control<Rule>;

// Each level takes some kilobytes of the stack.
template <class Rule>
struct limits : nothing<Rule> {};
template <>
struct limits<operand> : limit_depth<400> {};

}  // namespace grammar

using Node = pegtl::parse_tree::node;

using Operation = std::pair<std::string_view, FormulaOp>;
constexpr Operation functions[] = {
    {"sin", FormulaOp::sin},     {"cos", FormulaOp::cos},     {"tan", FormulaOp::tan},
    {"asin", FormulaOp::asin},   {"acos", FormulaOp::acos},   {"atan", FormulaOp::atan},
    {"sinh", FormulaOp::sinh},   {"cosh", FormulaOp::cosh},   {"tanh", FormulaOp::tanh},
    {"asinh", FormulaOp::asinh}, {"acosh", FormulaOp::acosh}, {"atanh", FormulaOp::atanh},
    {"atan2", FormulaOp::atan2}, {"exp", FormulaOp::exp},     {"log", FormulaOp::log},
    {"ln", FormulaOp::log},      {"log2", FormulaOp::log2},   {"log10", FormulaOp::log10},
    {"erf", FormulaOp::erf},     {"pow", FormulaOp::power},   {"sqrt", FormulaOp::sqrt},
    {"cbrt", FormulaOp::cbrt},   {"abs", FormulaOp::abs},     {"sign", FormulaOp::sign},
    {"floor", FormulaOp::floor}, {"ceil", FormulaOp::ceil},   {"round", FormulaOp::round},
    {"rint", FormulaOp::rint},   {"if", FormulaOp::choose},   {"min", FormulaOp::min},
    {"max", FormulaOp::max},     {"sum", FormulaOp::add},     {"avg", FormulaOp::add}};
constexpr Operation signs[] = {
    {"*", FormulaOp::multiply},    {"/", FormulaOp::divide},         {"+", FormulaOp::add},
    {"-", FormulaOp::subtract},    {"<", FormulaOp::less},           {"<=", FormulaOp::less_equal},
    {">", FormulaOp::greater},     {">=", FormulaOp::greater_equal}, {"==", FormulaOp::equal},
    {"!=", FormulaOp::not_equal},  {"&&", FormulaOp::logical_and},   {"and", FormulaOp::logical_and},
    {"||", FormulaOp::logical_or}, {"or", FormulaOp::logical_or}};
constexpr std::pair<std::string_view, double> constants[] = {
    {"pi", std::numbers::pi}, {"_pi", std::numbers::pi}, {"_e", std::numbers::e}};
constexpr std::string_view variable_names = "xyzt";

FormulaProgram number_of(double value) { return {{{FormulaOp::number, 0, value}}, 1}; }
bool is_number(const FormulaProgram& program) {
  return program.steps.back().op == FormulaOp::number && program.steps.size() == 1;
}
double value_of(const FormulaProgram& constant) {
  double value = 0;
  evaluate(constant, {}, &value);
  return value;
}

// Throws FormulaError if the result needs a deeper stack than a formula may have.
FormulaProgram joined(FormulaOp op, const std::vector<FormulaProgram>& operands) {
  FormulaProgram made;
  for (int i = 0; i < std::ssize(operands); ++i) {
    made.steps.insert(made.steps.end(), operands[i].steps.begin(), operands[i].steps.end());
    made.depth = std::max(made.depth, i + operands[i].depth);
  }
  made.steps.push_back({op});
  if (made.depth > deepest_formula)
    throw FormulaError{fmt::format("more than {} values on the stack at once", deepest_formula), 0};
  return made;
}

class Compiler {
 public:
  explicit Compiler(std::string_view allowed) : allowed_(allowed) {}

  FormulaProgram program(const Node& node) const {
    // A number that is too large becomes infinite, which the checks of the deck detect.
    if (node.is_type<grammar::number>()) return number_of(std::strtod(node.string().c_str(), nullptr));
    if (node.is_type<grammar::name>()) return named(node);
    if (node.is_type<grammar::call>()) return called(node);
    std::vector<FormulaProgram> parts;
    const bool is_chain = !node.is_type<grammar::power>() && !node.is_type<grammar::expression>();
    for (std::size_t i = 0; i < node.children.size(); i += is_chain ? 2 : 1)  // operators are in between
      parts.push_back(program(*node.children[i]));
    if (node.is_type<grammar::negative>()) return applied(FormulaOp::negative, parts);
    if (node.is_type<grammar::inverse>()) return applied(FormulaOp::logical_not, parts);
    if (!is_chain) return applied(parts.size() == 2 ? FormulaOp::power : FormulaOp::choose, parts);
    FormulaProgram made = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::string_view sign = node.children[2 * i - 1]->string_view();
      made = applied(std::ranges::find(signs, sign, &Operation::first)->second, {made, parts[i]});
    }
    return made;
  }

 private:
  FormulaProgram named(const Node& node) const {
    const std::string_view name = node.string_view();
    for (const auto& [constant, value] : constants)
      if (name == constant) return number_of(value);
    const std::size_t at = name.size() == 1 ? variable_names.find(name) : name.npos;
    if (at == name.npos || allowed_.find(name) == name.npos) throw unknown(node);
    return {{{FormulaOp::variable, static_cast<std::uint8_t>(at), 0}}, 1};
  }
  FormulaProgram called(const Node& node) const {
    const Node& name = *node.children[0];
    const auto given = static_cast<int>(node.children.size()) - 1;
    const auto function = std::ranges::find(functions, name.string_view(), &Operation::first);
    if (function == std::end(functions)) {
      named(name);  // throws if no constant or variable has this name
      throw FormulaError{fmt::format("'{}' is no function (multiply with '*')", name.string_view()),
                         name.begin().byte};
    }
    const auto [word, op] = *function;
    // These functions take any number of values, their operator two at a time.
    const bool takes_any = op == FormulaOp::min || op == FormulaOp::max || op == FormulaOp::add;
    if (!takes_any && given != operands_of(op))
      throw FormulaError{fmt::format("{} takes {}, not {}", word, counted(operands_of(op), "value"), given),
                         name.begin().byte};
    std::vector<FormulaProgram> values;
    for (int i = 1; i <= given; ++i) values.push_back(program(*node.children[i]));
    if (!takes_any) return applied(op, values);
    FormulaProgram made = values[0];
    for (int i = 1; i < given; ++i) made = applied(op, {made, values[i]});
    return word == "avg" ? applied(FormulaOp::divide, {made, number_of(given)}) : made;
  }

  // The result is a number if all operands are.
  static FormulaProgram applied(FormulaOp op, const std::vector<FormulaProgram>& operands) {
    const bool folds = std::ranges::all_of(operands, is_number);
    if (op == FormulaOp::power && !folds && is_number(operands[1]) && operands[1].steps[0].number == 2)
      return joined(FormulaOp::square, {operands[0]});
    FormulaProgram made = joined(op, operands);
    return folds ? number_of(value_of(made)) : made;
  }

  FormulaError unknown(const Node& name) const {
    if (name.string_view() == "T")
      return {"'T' is no variable (what depends on the temperature is not available in this version)",
              name.begin().byte};
    std::vector<std::string_view> known;
    for (const auto& [word, op] : functions) {
      if (word == name.string_view())
        return {fmt::format("'{0}' is a function (write {0}(...))", word), name.begin().byte};
      known.push_back(word);
    }
    for (const auto& [word, value] : constants) known.push_back(word);
    for (const char& letter : allowed_) known.emplace_back(&letter, 1);
    const std::string_view meant = nearest_word(name.string_view(), known);
    return {fmt::format("unknown name '{}'{}", name.string_view(),
                        meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant)),
            name.begin().byte};
  }

  std::string_view allowed_;
};

FormulaError explained(const pegtl::parse_error& error, const std::string& text) {
  const std::size_t stop = std::min(error.positions().front().byte, text.size()),
                    at = std::min(text.find_first_not_of(' ', stop), text.size());
  const auto last = at == 0 ? text.npos : text.find_last_not_of(' ', at - 1);
  const char sign = at < text.size() ? text[at] : '\0', before = last == text.npos ? '(' : text[last];
  const auto follows = [&](std::string_view any) { return any.find(before) != any.npos; };
  // Notations of other programs: decimal commas, assignments, other operators.
  if (sign == ',' && !follows("(,"))
    return {"',' outside the arguments of a function (the decimal sign is '.')", at};
  if (sign == '=' && !follows("=<>!") && text[at + 1] != '=') return {"'=' would assign ('==' compares)", at};
  if (sign == '*' && at > 0 && text[at - 1] == '*') return {"'**' is no operator (powers are '^')", at - 1};
  const std::string_view problem = error.message();
  if (problem.starts_with("maximum")) return {"more than 400 nested parts", stop};
  if (!problem.starts_with("parse error")) return {std::string(problem), stop};
  if (stop == text.size()) return {"unexpected end of expression", stop};
  const bool multiplies = stop == last + 1 && follows("0123456789)") &&
                          (sign == '(' || std::isalpha(static_cast<unsigned char>(sign)));  // 2x, 2(x)
  const std::size_t length = utf8_length(text.substr(stop));
  return {fmt::format("unexpected '{}'{}", text.substr(stop, std::max<std::size_t>(length, 1)),
                      multiplies   ? " (multiply with '*')"
                      : length > 1 ? " (not an ASCII character)"
                                   : ""),
          stop};
}

}  // namespace

Expression::Expression(double constant) : constant_(constant), text_(fmt::format("{}", constant)) {}

Expression::Expression(std::string text, std::string_view variables) : text_(std::move(text)) {
  try {
    pegtl::memory_input input(text_, "");
    const auto root =
        pegtl::parse_tree::parse<grammar::formula, grammar::kept, grammar::limits, grammar::control>(input);
    program_ = std::make_shared<const FormulaProgram>(Compiler(variables).program(*root->children.front()));
  } catch (const pegtl::parse_error& error) {
    throw explained(error, text_);
  }
}

Expression::Expression(const std::vector<TableKnot>& knots, bool steps, std::string text, char variable)
    : text_(std::move(text)) {
  FormulaProgram program{{{FormulaOp::variable, static_cast<std::uint8_t>(variable_names.find(variable)), 0}},
                         1};
  const auto mode = static_cast<std::uint8_t>(steps);
  program.steps.push_back({FormulaOp::table, mode, static_cast<double>(knots.size())});
  for (const TableKnot& knot : knots) {
    program.steps.push_back({FormulaOp::number, 0, knot.time});
    program.steps.push_back({FormulaOp::number, 1, knot.value});
  }
  program_ = std::make_shared<const FormulaProgram>(std::move(program));
}

Expression Expression::combined(FormulaOp op, const std::vector<Expression>& operands) {
  std::vector<FormulaProgram> programs;
  for (const Expression& each : operands)
    programs.push_back(each.program_ ? *each.program_ : number_of(each.constant_));
  FormulaProgram made = joined(op, programs);
  if (std::ranges::all_of(operands, &Expression::is_constant)) return value_of(made);
  Expression result;
  result.text_ = "a combination of formulas";
  result.program_ = std::make_shared<const FormulaProgram>(std::move(made));
  return result;
}

bool Expression::is_table() const {
  return program_ && program_->steps.size() > 1 && program_->steps[1].op == FormulaOp::table;
}

std::vector<double> Expression::jumps() const {
  if (!is_table() || program_->steps[1].variable == 0) return {};
  std::vector<double> times;
  const std::vector<FormulaStep>& steps = program_->steps;
  // A knot has two steps: its time, then its value. Nothing jumps at the first knot.
  for (std::size_t i = 4; i + 1 < steps.size(); i += 2)
    if (steps[i + 1].number != steps[i - 1].number) times.push_back(steps[i].number);
  return times;
}

double Expression::shortest_change(double end) const {
  double shortest = std::numeric_limits<double>::infinity();
  if (!is_table() || program_->steps[1].variable == 1) return shortest;
  const std::vector<FormulaStep>& steps = program_->steps;
  for (std::size_t i = 4; i + 1 < steps.size(); i += 2)
    if (steps[i + 1].number != steps[i - 1].number && steps[i].number > 0 && steps[i - 2].number < end)
      shortest = std::min(shortest, steps[i].number - steps[i - 2].number);
  return shortest;
}

double Expression::operator()(double x, double y, double z, double t) const {
  double value = constant_;
  evaluate({{{&x}, {&y}, {&z}, {&t}}}, &value);
  return value;
}

void Expression::evaluate(const FormulaPoints& points, double* values) const {
  if (program_) return isotherm::evaluate(*program_, points, values);
  std::fill_n(values, points.count, constant_);
}

bool Expression::uses(char variable) const {
  const auto number = variable_names.find(variable);
  return program_ && std::ranges::any_of(program_->steps, [&](const FormulaStep& step) {
           return step.op == FormulaOp::variable && step.variable == number;
         });
}

}  // namespace isotherm
