// Arithmetic, comparison, membership and slices.
#include "runtime/chat_template/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/chat_template/markup.h"
#include "runtime/chat_template/print.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

[[noreturn]] void Unsupported(const char* symbol, const Value& a, const Value& b) {
  RequireDefined(a);
  RequireDefined(b);
  TypeError(std::string("unsupported operand types for ") + symbol + ": '" + a.type_name() + "' and '" + b.type_name() +
            "'");
}

const char* Symbol(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSub:
      return "-";
    case Operator::kMul:
      return "*";
    case Operator::kDiv:
      return "/";
    case Operator::kFloorDiv:
      return "//";
    case Operator::kMod:
      return "%";
    case Operator::kPow:
      return "**";
    default:
      return "~";
  }
}

Value IntegerPower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  bool overflow = false;
  while (exponent > 0 && !overflow) {
    if (exponent % 2 == 1) overflow = __builtin_mul_overflow(result, base, &result);
    exponent /= 2;
    if (exponent > 0) overflow = overflow || __builtin_mul_overflow(base, base, &base);
  }
  if (overflow) throw TemplateError("integers beyond 63 bits are not supported", ErrorKind::kUnsupported);
  return Value(result);
}

Value IntegerArithmetic(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::kSub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::kMul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::kDiv:
      if (b == 0) TypeError("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case Operator::kFloorDiv:
    case Operator::kMod: {
      if (b == 0) TypeError("integer division or modulo by zero");
      if (b == -1) return op == Operator::kMod ? Value(int64_t{0}) : Negate(Value(a));
      const int64_t quotient = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
      result = op == Operator::kFloorDiv ? quotient : a - quotient * b;
      break;
    }
    default:
      return b < 0 ? Value(std::pow(static_cast<double>(a), static_cast<double>(b))) : IntegerPower(a, b);
  }
  if (overflow) throw TemplateError("integers beyond 63 bits are not supported", ErrorKind::kUnsupported);
  return Value(result);
}

Value FloatArithmetic(Operator op, double a, double b) {
  if (b == 0.0 && (op == Operator::kDiv || op == Operator::kFloorDiv || op == Operator::kMod))
    TypeError("float division by zero");
  switch (op) {
    case Operator::kAdd:
      return Value(a + b);
    case Operator::kSub:
      return Value(a - b);
    case Operator::kMul:
      return Value(a * b);
    case Operator::kDiv:
      return Value(a / b);
    case Operator::kFloorDiv:
      return Value(std::floor(a / b));
    case Operator::kMod: {
      const double rest = std::fmod(a, b);
      return Value(rest != 0.0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    default:
      return Value(std::pow(a, b));
  }
}

Value Repeat(Budget& budget, const Value& value, int64_t count) {
  const size_t times = count < 0 ? 0 : static_cast<size_t>(count);
  if (const Text* text = value.as_text()) {
    TextBuilder out(budget);
    out.Repeat(*text, times);
    return Value(out.Take());
  }
  const List& list = *value.as_list();
  Values items;
  for (size_t i = 0; !list.items.empty() && i < times; ++i) {
    budget.Work(list.items.size() * sizeof(Value));
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return MakeList(budget, std::move(items), list.kind);
}

Text Joined(Budget& budget, const Text& a, const Text& b) {
  const bool markup = a.is_markup() || b.is_markup();
  TextBuilder out(budget);
  out.Add(markup ? AsMarkup(budget, a) : a);
  out.Add(markup ? AsMarkup(budget, b) : b);
  Text joined = out.Take();
  joined.set_markup(markup);
  return joined;
}

// What is formatted into a markup text: its strings escaped.
Value Escaped(Budget& budget, const Value& values) {
  if (const Text* text = values.as_text()) return Value(AsMarkup(budget, *text));
  if (const List* list = values.as_list(); list != nullptr && list->kind == ListKind::kTuple) {
    Values items;
    for (const Value& item : list->items) {
      const Text* text = item.as_text();
      items.push_back(text != nullptr ? Value(AsMarkup(budget, *text)) : item);
    }
    return MakeList(budget, std::move(items), list->kind);
  }
  const Dict* dict = values.as_dict();
  if (dict == nullptr) return values;
  Dict escaped;
  for (const auto& [key, item] : dict->entries) {
    const Text* text = item.as_text();
    escaped.Set(budget, key, text != nullptr ? Value(AsMarkup(budget, *text)) : item);
  }
  return MakeDict(budget, std::move(escaped));
}

bool IsRepeatable(const Value& value) {
  const List* list = value.as_list();
  return value.is_string() || (list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple));
}

}  // namespace

Value Arithmetic(Budget& budget, Operator op, const Value& a, const Value& b) {
  if (op == Operator::kConcat) {
    TextBuilder out(budget);
    PrintTo(out, a);
    PrintTo(out, b);
    return Value(out.Take());
  }
  if (a.is_number() && b.is_number()) {
    const auto x = a.ToInt();
    const auto y = b.ToInt();
    return x && y ? IntegerArithmetic(op, *x, *y) : FloatArithmetic(op, a.ToDouble(), b.ToDouble());
  }
  if (op == Operator::kAdd && a.is_string() && b.is_string()) return Value(Joined(budget, *a.as_text(), *b.as_text()));
  if (op == Operator::kAdd && IsRepeatable(a) && IsRepeatable(b) && !a.is_string() && !b.is_string() &&
      a.as_list()->kind == b.as_list()->kind) {
    Values items = a.as_list()->items;
    items.insert(items.end(), b.as_list()->items.begin(), b.as_list()->items.end());
    return MakeList(budget, std::move(items), a.as_list()->kind);
  }
  if (op == Operator::kMul && IsRepeatable(a) && b.ToInt()) return LikeMarkup(a, Repeat(budget, a, *b.ToInt()));
  if (op == Operator::kMul && IsRepeatable(b) && a.ToInt()) return LikeMarkup(b, Repeat(budget, b, *a.ToInt()));
  if (op == Operator::kMod && a.is_string()) {
    const Value values = a.as_text()->is_markup() ? Escaped(budget, b) : b;
    return LikeMarkup(a, Value(PercentFormat(budget, *a.as_text(), values)));
  }
  Unsupported(Symbol(op), a, b);
}

Value Negate(const Value& value) {
  RequireDefined(value);
  if (const double* number = value.as_float()) return Value(-*number);
  const auto integer = value.ToInt();
  if (!integer) TypeError(std::string("bad operand type for unary -: '") + value.type_name() + "'");
  if (*integer == std::numeric_limits<int64_t>::min()) {
    throw TemplateError("integers beyond 63 bits are not supported", ErrorKind::kUnsupported);
  }
  return Value(-*integer);
}

bool Compare(Budget& budget, Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::kEq:
      return Equal(budget, a, b);
    case Operator::kNe:
      return !Equal(budget, a, b);
    case Operator::kLt:
      return Less(budget, a, b);
    case Operator::kGt:
      return Less(budget, b, a);
    // Not the negated opposite: that would be true for NaN.
    case Operator::kLe:
      return Less(budget, a, b) || Equal(budget, a, b);
    case Operator::kGe:
      return Less(budget, b, a) || Equal(budget, a, b);
    case Operator::kIn:
      return Contains(budget, b, a);
    default:
      return !Contains(budget, b, a);
  }
}

bool Contains(Budget& budget, const Value& container, const Value& item) {
  if (container.is_undefined()) return false;
  if (const Text* text = container.as_text()) {
    if (!item.is_string())
      TypeError(std::string("'in <string>' requires string as left operand, not ") + item.type_name());
    budget.Search(text->size(), item.as_text()->size());
    return text->bytes().find(item.as_text()->bytes()) != std::string::npos;
  }
  if (const List* list = container.as_list()) {
    return std::any_of(list->items.begin(), list->items.end(), [&](const Value& v) { return Equal(budget, v, item); });
  }
  if (const Dict* dict = container.as_dict()) return dict->Find(budget, item) != nullptr;
  TypeError(std::string("argument of type '") + container.type_name() + "' is not iterable");
}

Value Slice(Budget& budget, const Value& container, const Value& start, const Value& stop, const Value& step) {
  RequireDefined(container);
  const Text* text = container.as_text();
  const List* list = container.as_list();
  if (list != nullptr && (list->kind == ListKind::kGenerator || list->kind == ListKind::kView)) list = nullptr;
  if (text == nullptr && list == nullptr)
    TypeError(std::string("'") + container.type_name() + "' object cannot be sliced");
  const auto bound = [](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    RequireDefined(value);
    const auto integer = value.ToInt();
    if (!integer) TypeError("slice indices must be integers or None");
    return *integer;
  };
  const int64_t by = bound(step, 1);
  if (by == 0) TypeError("slice step cannot be zero");
  std::vector<size_t> offsets;  // Of characters.
  if (text != nullptr) {
    budget.Work(text->size() * sizeof(size_t));
    for (size_t at = 0; at < text->size(); at += Utf8Length(text->bytes()[at])) offsets.push_back(at);
  }
  const int64_t size = static_cast<int64_t>(text != nullptr ? offsets.size() : list->items.size());
  const auto clamp = [&](int64_t at) {
    if (at < 0) at = at < -size ? -1 : at + size;
    return by > 0 ? std::clamp<int64_t>(at, 0, size) : std::clamp<int64_t>(at, -1, size - 1);
  };
  const int64_t begin = start.is_none() ? (by > 0 ? 0 : size - 1) : clamp(bound(start, 0));
  const int64_t end = stop.is_none() ? (by > 0 ? size : -1) : clamp(bound(stop, 0));
  if (text != nullptr && by == 1) {
    const auto offset = [&](int64_t at) { return at == size ? text->size() : offsets[static_cast<size_t>(at)]; };
    const size_t from = begin < end ? offset(begin) : 0, to = begin < end ? offset(end) : 0;
    return LikeMarkup(container, Value(text->Substr(from, to - from)));
  }
  TextBuilder chars(budget);
  Values items;
  for (int64_t at = begin; by > 0 ? at < end : at > end;) {
    if (text != nullptr) {
      const size_t offset = offsets[static_cast<size_t>(at)];
      chars.Add(*text, offset, Utf8Length(text->bytes()[offset]));
    } else {
      items.push_back(list->items[static_cast<size_t>(at)]);
    }
    if (__builtin_add_overflow(at, by, &at)) break;
  }
  return text != nullptr ? LikeMarkup(container, Value(chars.Take())) : MakeList(budget, std::move(items), list->kind);
}

}  // namespace prenorm::chat_template
