// Functions that every template can call.
#include <ctime>

#include "runtime/chat_template/objects.h"
#include "runtime/chat_template/print.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

Value RaiseException(Interpreter& in, const Value&, Arguments& arguments) {
  arguments.Expect("raise_exception", {"message"});
  throw TemplateError(Str(in.budget(), arguments.Get(0, "message")).bytes(), ErrorKind::kRaised);
}

Value StrftimeNow(Interpreter& in, const Value&, Arguments& arguments) {
  arguments.Expect("strftime_now", {"format"});
  const Text& format = arguments.String(0, "format");
  if (format.empty()) return Value(Text());
  constexpr size_t kMaxBytes = 1024;
  char buffer[kMaxBytes];
  const size_t size = std::strftime(buffer, sizeof(buffer), format.bytes().c_str(), &in.now());
  // Zero also where the text does not fit; every format of a date does.
  const std::string text = ReplaceInvalidUtf8(std::string_view(buffer, size));
  return Value::String(text, format.runs().size() == 1 ? format.runs()[0].origin : Origin::kData);
}

Value MakeRange(Interpreter& in, const Value&, Arguments& arguments) {
  arguments.Expect("range", {"start", "stop", "step"});
  if (!arguments.named.empty()) TypeError("range() takes no keyword arguments");
  arguments.Get(0, "stop");
  const bool only_stop = arguments.positional.size() == 1;
  const int64_t start = only_stop ? 0 : arguments.Int(0, "start", 0);
  const int64_t stop = arguments.Int(only_stop ? 0 : 1, "stop", 0);
  const int64_t step = arguments.Int(2, "step", 1);
  if (step == 0) TypeError("range() arg 3 must not be zero");
  const size_t limit = in.budget().limits().range_items;
  Values items;
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (items.size() == limit) Budget::Exceeded("items in a range", limit);
    items.push_back(Value(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return in.List(std::move(items), ListKind::kRange);
}

// What dict() and namespace() take: mappings, sequences of pairs, keywords.
Dict Members(Interpreter& in, Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) TypeError("expected at most 1 argument");
  for (const Value& value : arguments.positional) {
    RequireDefined(value);
    if (const Dict* other = value.as_dict()) {
      for (const auto& [key, item] : other->entries) dict.Set(in.budget(), key, item);
      continue;
    }
    for (const Value& pair : in.Iterate(value)) {
      const Values parts = in.Iterate(pair);
      if (parts.size() != 2) TypeError("expected pairs of key and value");
      dict.Set(in.budget(), parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) dict.Set(in.budget(), Value::String(name), value);
  return dict;
}

Value MakeDictOf(Interpreter& in, const Value&, Arguments& arguments) {
  return MakeDict(in.budget(), Members(in, arguments));
}

Value MakeNamespace(Interpreter& in, const Value&, Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  in.Register(space);
  for (auto& [key, value] : Members(in, arguments).entries) {
    if (!key.is_string()) TypeError("names in a namespace must be strings");
    space->Set(in.budget(), key.as_text()->bytes(), value);
  }
  return Value(ObjectPtr(std::move(space)));
}

Value MakeCycler(Interpreter& in, const Value&, Arguments& arguments) {
  if (arguments.positional.empty()) TypeError("no items for cycling given");
  return Value(ObjectPtr(std::make_shared<Cycler>(in.List(arguments.positional), false)));
}

Value MakeJoiner(Interpreter& in, const Value&, Arguments& arguments) {
  arguments.Expect("joiner", {"sep"});
  const Value* separator = arguments.Find(0, "sep");
  return Value(
      ObjectPtr(std::make_shared<Cycler>(in.List({separator != nullptr ? *separator : Value::String(", ")}), true)));
}

}  // namespace

std::unique_ptr<Value> FindGlobal(std::string_view name) {
  static constexpr std::pair<std::string_view, Native> kGlobals[] = {
      {"range", MakeRange},   {"dict", MakeDictOf},   {"namespace", MakeNamespace}, {"raise_exception", RaiseException},
      {"cycler", MakeCycler}, {"joiner", MakeJoiner}, {"strftime_now", StrftimeNow}};
  for (const auto& [key, native] : kGlobals) {
    if (key == name) return std::make_unique<Value>(ObjectPtr(std::make_shared<Function>(native, Value())));
  }
  return nullptr;
}

}  // namespace prenorm::chat_template
