// Tests behind `is`.
#include "runtime/chat_template/tests.h"

#include <algorithm>

#include "runtime/chat_template/filters.h"
#include "runtime/chat_template/interpreter.h"
#include "runtime/chat_template/operators.h"
#include "runtime/chat_template/char_case.h"
#include "runtime/chat_template/print.h"

namespace prenorm::chat_template {
namespace {

bool Defined(Interpreter&, const Value& value, Arguments&) { return !value.is_undefined(); }
bool IsUndefined(Interpreter&, const Value& value, Arguments&) { return value.is_undefined(); }
bool IsNone(Interpreter&, const Value& value, Arguments&) { return value.is_none(); }
bool IsBoolean(Interpreter&, const Value& value, Arguments&) { return value.as_bool() != nullptr; }
bool IsTrue(Interpreter&, const Value& value, Arguments&) { return value.as_bool() != nullptr && *value.as_bool(); }
bool IsFalse(Interpreter&, const Value& value, Arguments&) { return value.as_bool() != nullptr && !*value.as_bool(); }
bool IsInteger(Interpreter&, const Value& value, Arguments&) { return value.as_int() != nullptr; }
bool IsFloat(Interpreter&, const Value& value, Arguments&) { return value.is_float(); }
bool IsNumber(Interpreter&, const Value& value, Arguments&) { return value.is_number(); }
bool IsString(Interpreter&, const Value& value, Arguments&) { return value.is_string(); }
bool IsMapping(Interpreter&, const Value& value, Arguments&) { return value.as_dict() != nullptr; }

bool IsIterable(Interpreter&, const Value& value, Arguments&) {
  return value.is_string() || value.as_list() != nullptr || value.as_dict() != nullptr || value.is_undefined();
}

bool IsSequence(Interpreter&, const Value& value, Arguments&) {
  const List* list = value.as_list();
  const bool indexable = list != nullptr && list->kind != ListKind::kGenerator && list->kind != ListKind::kView;
  return indexable || value.is_string() || value.as_dict() != nullptr || value.is_undefined();
}

// Jinja's Undefined has a method that raises, so Python calls it callable.
bool IsCallable(Interpreter&, const Value& value, Arguments&) {
  return value.is_undefined() || (value.as_object() != nullptr && value.as_object()->callable());
}

bool HasRest(Interpreter& in, const Value& value, const Value& divisor, double rest) {
  RequireDefined(value);
  if (!value.is_number()) TypeError(std::string("expected a number, found ") + value.type_name());
  return Arithmetic(in.budget(), Operator::kMod, value, divisor).ToDouble() == rest;
}

bool IsOdd(Interpreter& in, const Value& value, Arguments&) { return HasRest(in, value, Value(int64_t{2}), 1); }
bool IsEven(Interpreter& in, const Value& value, Arguments&) { return HasRest(in, value, Value(int64_t{2}), 0); }

bool IsDivisible(Interpreter& in, const Value& value, Arguments& arguments) {
  return HasRest(in, value, arguments.Get(0, "num"), 0);
}

template <Operator op>
bool Compares(Interpreter& in, const Value& value, Arguments& arguments) {
  return Compare(in.budget(), op, value, arguments.Get(0, "other"));
}

bool SameAs(Interpreter&, const Value& value, Arguments& arguments) {
  return value.SameObject(arguments.Get(0, "other"));
}

template <bool (*of_case)(char32_t)>
bool IsCased(Interpreter& in, const Value& value, Arguments&) {
  return IsAll(Str(in.budget(), value).bytes(), of_case);
}

bool IsFilter(Interpreter&, const Value& value, Arguments&) {
  return value.is_string() && FindFilter(value.as_text()->bytes()) != nullptr;
}

bool IsTest(Interpreter&, const Value& value, Arguments&) {
  return value.is_string() && FindTest(value.as_text()->bytes()) != nullptr;
}

constexpr TestEntry kTests[] = {
    {"!=", Compares<Operator::kNe>},
    {"<", Compares<Operator::kLt>},
    {"<=", Compares<Operator::kLe>},
    {"==", Compares<Operator::kEq>},
    {">", Compares<Operator::kGt>},
    {">=", Compares<Operator::kGe>},
    {"boolean", IsBoolean},
    {"callable", IsCallable},
    {"defined", Defined},
    {"divisibleby", IsDivisible},
    {"eq", Compares<Operator::kEq>},
    {"equalto", Compares<Operator::kEq>},
    {"even", IsEven},
    {"false", IsFalse},
    {"filter", IsFilter},
    {"float", IsFloat},
    {"ge", Compares<Operator::kGe>},
    {"greaterthan", Compares<Operator::kGt>},
    {"gt", Compares<Operator::kGt>},
    {"in", Compares<Operator::kIn>},
    {"integer", IsInteger},
    {"iterable", IsIterable},
    {"le", Compares<Operator::kLe>},
    {"lessthan", Compares<Operator::kLt>},
    {"lower", IsCased<IsLower>},
    {"lt", Compares<Operator::kLt>},
    {"mapping", IsMapping},
    {"ne", Compares<Operator::kNe>},
    {"none", IsNone},
    {"number", IsNumber},
    {"odd", IsOdd},
    {"sameas", SameAs},
    {"sequence", IsSequence},
    {"string", IsString},
    {"test", IsTest},
    {"true", IsTrue},
    {"undefined", IsUndefined},
    {"upper", IsCased<IsUpper>},
};

}  // namespace

const TestEntry* FindTest(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const TestEntry& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

std::string UnknownTest(std::string_view name) {
  std::string text = "the test '" + std::string(name) + "' is not supported; these are:";
  for (const TestEntry& test : kTests) text += " " + std::string(test.name);
  return text;
}

}  // namespace prenorm::chat_template
