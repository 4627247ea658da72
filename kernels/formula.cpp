#include "kernels/formula.hpp"

#include "kernels/host/host_kernels.hpp"

namespace isotherm {

void evaluate(const FormulaProgram& program, const FormulaPoints& points, double* values) {
  static thread_local std::vector<FormulaSlot> stack;
  if (std::ssize(stack) < program.depth) stack.resize(static_cast<std::size_t>(program.depth));
  static const auto run = host::for_this_cpu([](auto isa) { return &host::Formula<decltype(isa)>::run; });
  run(program.steps.data(), std::ssize(program.steps), points, stack.data(), values);
}

}  // namespace isotherm
