// Python's operators on values.
#pragma once

#include "runtime/chat_template/ast.h"

namespace prenorm::chat_template {

Value Arithmetic(Budget& budget, Operator op, const Value& a, const Value& b);
Value Negate(const Value& value);
bool Compare(Budget& budget, Operator op, const Value& a, const Value& b);
/// `item in container`. Throws for what contains nothing.
bool Contains(Budget& budget, const Value& container, const Value& item);
/// What `container[start:stop:step]` gives; null bounds are absent.
Value Slice(Budget& budget, const Value& container, const Value& start, const Value& stop, const Value& step);
/// Python's `format % values`: %s %r %d %i %x %f %e %g %c %% with flags, width and precision.
Text PercentFormat(Budget& budget, const Text& format, const Value& values);

}  // namespace prenorm::chat_template
