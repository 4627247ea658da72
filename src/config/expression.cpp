// The only file that sees PEGTL: a grammar of formulas, and the program that a tree of it becomes.
#include "config/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numbers>
#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/limit_depth.hpp>
#include <tao/pegtl/contrib/parse_tree.hpp>
#include <utility>

#include "core/text.hpp"

namespace isotherm {
namespace {

namespace pegtl = tao::pegtl;

// Spaces may stand before each token. What follows a sign has to be there.
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
struct comparison : chain<sum, comparison_sign> {};
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
inline constexpr const char* problem = nullptr;  // what stands there says enough
template <>
inline constexpr const char* problem<closing> = "missing parenthesis";
template <>
inline constexpr const char* problem<colon> = "missing ':'";
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

class Compiler {
 public:
  explicit Compiler(std::string_view allowed) : allowed_(allowed) {}

  FormulaProgram program(const Node& root) {
    add(root);
    FormulaProgram made{std::move(steps_), 0};
    int depth = 0;
    for (const FormulaStep& step : made.steps)
      made.depth = std::max(made.depth, depth += 1 - operands_of(step.op));
    if (made.depth > deepest_formula)
      throw FormulaError{fmt::format("more than {} values wait for each other", deepest_formula), 0};
    return made;
  }

 private:
  void add(const Node& node) {
    const auto& parts = node.children;
    if (node.is_type<grammar::number>()) return add_number(node.string_view());
    if (node.is_type<grammar::name>()) return add_name(node);
    if (node.is_type<grammar::call>()) return add_call(node);
    add(*parts[0]);
    if (node.is_type<grammar::negative>()) return apply(FormulaOp::negative);
    if (node.is_type<grammar::inverse>()) return apply(FormulaOp::logical_not);
    if (node.is_type<grammar::power>() || node.is_type<grammar::expression>()) {
      for (std::size_t i = 1; i < parts.size(); ++i) add(*parts[i]);
      return apply(parts.size() == 2 ? FormulaOp::power : FormulaOp::choose);
    }
    for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
      add(*parts[i + 1]);
      apply(std::ranges::find(signs, parts[i]->string_view(), &Operation::first)->second);
    }
  }

  void add_number(std::string_view text) {
    // Infinite where it is too large, which the deck's checks find.
    steps_.push_back({FormulaOp::number, 0, std::strtod(std::string(text).c_str(), nullptr)});
  }
  void add_name(const Node& node) {
    const std::string_view name = node.string_view();
    for (const auto& [constant, value] : constants)
      if (name == constant) return steps_.push_back({FormulaOp::number, 0, value});
    const std::size_t at = name.size() == 1 ? variable_names.find(name) : name.npos;
    if (at == name.npos || allowed_.find(name) == name.npos) throw unknown(node);
    steps_.push_back({FormulaOp::variable, static_cast<std::uint8_t>(at), 0});
  }
  void add_call(const Node& node) {
    const Node& name = *node.children[0];
    const std::size_t given = node.children.size() - 1;
    const auto function = std::ranges::find(functions, name.string_view(), &Operation::first);
    if (function == std::end(functions)) throw unknown(name);
    const auto [word, op] = *function;
    // These take any number of values, and the operator two at a time.
    const bool takes_any = op == FormulaOp::min || op == FormulaOp::max || op == FormulaOp::add;
    if (!takes_any && given != static_cast<std::size_t>(operands_of(op)))
      throw FormulaError{fmt::format("{} takes {}, not {}", word, counted(operands_of(op), "value"), given),
                         name.begin().byte};
    for (std::size_t i = 1; i <= given; ++i) {
      add(*node.children[i]);
      if (takes_any && i > 1) apply(op);
    }
    if (!takes_any) apply(op);
    if (word != "avg") return;
    steps_.push_back({FormulaOp::number, 0, static_cast<double>(given)});
    apply(FormulaOp::divide);
  }

  // A step whose operands are numbers becomes a number.
  void apply(FormulaOp op) {
    const auto operands = steps_.end() - operands_of(op);
    const bool folds = std::all_of(operands, steps_.end(),
                                   [](const FormulaStep& step) { return step.op == FormulaOp::number; });
    if (op == FormulaOp::power && !folds && steps_.back().op == FormulaOp::number &&
        steps_.back().number == 2) {
      steps_.pop_back();
      return steps_.push_back({FormulaOp::square});
    }
    if (!folds) return steps_.push_back({op});
    FormulaProgram constant{{operands, steps_.end()}, 3};
    constant.steps.push_back({op});
    FormulaStep result;
    evaluate(constant, {}, &result.number);
    steps_.erase(operands, steps_.end());
    steps_.push_back(result);
  }

  static FormulaError unknown(const Node& name) {
    if (name.string_view() == "T")
      return {"'T' is no variable (what depends on the temperature is not available in this version)",
              name.begin().byte};
    return {fmt::format("unknown name '{}'", name.string_view()), name.begin().byte};
  }

  std::string_view allowed_;
  std::vector<FormulaStep> steps_;
};

FormulaError explained(const pegtl::parse_error& error, const std::string& text) {
  const std::size_t stop = std::min(error.positions().front().byte, text.size()),
                    at = std::min(text.find_first_not_of(' ', stop), text.size());
  const auto last = at == 0 ? text.npos : text.find_last_not_of(' ', at - 1);
  const char sign = at < text.size() ? text[at] : '\0', before = last == text.npos ? '(' : text[last];
  const auto follows = [&](std::string_view any) { return any.find(before) != any.npos; };
  // What other programs would read: decimal commas, assignments, other operators.
  if (sign == ',' && !follows("(,"))
    return {"',' outside the arguments of a function (the decimal sign is '.')", at};
  if (sign == '=' && !follows("=<>!") && text[at + 1] != '=') return {"'=' would assign ('==' compares)", at};
  if (sign == '*' && at > 0 && text[at - 1] == '*') return {"'**' is no operator (powers are '^')", at - 1};
  const std::string_view problem = error.message();
  if (problem.starts_with("maximum")) return {"more than 400 parts within each other", stop};
  if (!problem.starts_with("parse error")) return {std::string(problem), stop};
  return {stop < text.size() ? fmt::format("unexpected '{}'", text[stop]) : "unexpected end of expression",
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
  FormulaProgram made;
  bool are_numbers = true;
  for (int i = 0; i < std::ssize(operands); ++i) {
    const Expression& each = operands[static_cast<std::size_t>(i)];
    are_numbers = are_numbers && each.is_constant();
    if (each.program_)
      made.steps.insert(made.steps.end(), each.program_->steps.begin(), each.program_->steps.end());
    else
      made.steps.push_back({FormulaOp::number, 0, each.constant_});
    made.depth = std::max(made.depth, i + (each.program_ ? each.program_->depth : 1));
  }
  made.steps.push_back({op});
  if (made.depth > deepest_formula)
    throw FormulaError{fmt::format("more than {} values wait for each other", deepest_formula), 0};
  Expression result;
  if (are_numbers) {
    isotherm::evaluate(made, {}, &result.constant_);
    return Expression(result.constant_);
  }
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
  // Of each knot an instruction has its time, the next its value; nothing jumps at the first.
  for (std::size_t i = 4; i + 1 < steps.size(); i += 2)
    if (steps[i + 1].number != steps[i - 1].number) times.push_back(steps[i].number);
  return times;
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
