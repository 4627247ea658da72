// Evaluates formula programs for runs of points in one thread. Each step is a loop over the points, which the
// compiler vectorises where it can.
#include "kernels/formula.hpp"

#include "kernels/formula_functions.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {
namespace {

class Machine {
 public:
  Machine(const FormulaPoints& points, Index first, Index count, FormulaSlot* stack)
      : points_(points), first_(first), count_(count), top_(stack) {}

  ISOTHERM_INLINE_MEMBER void run(const FormulaStep* steps, Index count) {
    for (step_ = steps; step_ != steps + count; ++step_) {
      take_step(step_->op, *this);
      if (step_->op == FormulaOp::table) step_ += steps_of_knots(*step_);
    }
  }
  ISOTHERM_INLINE_MEMBER const FormulaStep* step() const { return step_; }

  ISOTHERM_INLINE_MEMBER void value() {
    FormulaSlot& slot = *top_++;
    const FormulaPoints::Variable& variable = points_.variables[step_->variable];
    const bool varies = step_->op == FormulaOp::variable && variable.varies;
    slot.count = varies ? count_ : 1;
    if (step_->op == FormulaOp::number)
      slot.values[0] = step_->number;
    else if (!varies)
      slot.values[0] = *variable.values;
    else
      for (Index i = 0; i < count_; ++i) slot.values[i] = variable.values[first_ + i];
  }
  template <class F>
  ISOTHERM_INLINE_MEMBER void unary(F f) {
    FormulaSlot& a = top_[-1];
    for (Index i = 0; i < a.count; ++i) a.values[i] = f(a.values[i]);
  }
  template <class F>
  ISOTHERM_INLINE_MEMBER void binary(F f) {
    FormulaSlot &a = top_[-2], &b = top_[-1];
    if (a.count != b.count) spread(a.count < b.count ? a : b);
    for (Index i = 0; i < a.count; ++i) a.values[i] = f(a.values[i], b.values[i]);
    --top_;
  }
  template <class F>
  ISOTHERM_INLINE_MEMBER void ternary(F f) {
    FormulaSlot &a = top_[-3], &b = top_[-2], &c = top_[-1];
    if (a.count != b.count || a.count != c.count) {
      spread(a);
      spread(b);
      spread(c);
    }
    for (Index i = 0; i < a.count; ++i) a.values[i] = f(a.values[i], b.values[i], c.values[i]);
    top_ -= 2;
  }
  ISOTHERM_INLINE_MEMBER void store(double* values) {
    spread(top_[-1]);
    for (Index i = 0; i < count_; ++i) values[first_ + i] = top_[-1].values[i];
  }

 private:
  ISOTHERM_INLINE_MEMBER void spread(FormulaSlot& slot) const {
    if (slot.count == count_) return;
    const double value = slot.values[0];
    for (Index i = 0; i < count_; ++i) slot.values[i] = value;
    slot.count = count_;
  }

  const FormulaPoints& points_;
  Index first_, count_;
  FormulaSlot* top_;  // after the last value
  const FormulaStep* step_ = nullptr;
};

}  // namespace

template <class Isa>
void run_formula(const FormulaStep* steps, Index count, const FormulaPoints& points, FormulaSlot* stack,
                 double* values) {
  for (Index first = 0; first < points.count; first += FormulaSlot::points) {
    Machine machine(points, first, smaller(FormulaSlot::points, points.count - first), stack);
    machine.run(steps, count);
    machine.store(values);
  }
}

template void run_formula<ISOTHERM_ISA>(const FormulaStep*, Index, const FormulaPoints&, FormulaSlot*,
                                        double*);

}  // namespace isotherm::host
