// Arguments of a call, and how native functions read them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/value.h"

namespace prenorm::chat_template {

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;

  /// Throws where there are more than these parameters, one of another name, or one given twice.
  void Expect(std::string_view function, std::initializer_list<std::string_view> parameters) const;

  /// The argument at `index`, or the one of this name; null if neither is there.
  const Value* Find(size_t index, std::string_view name) const;
  /// The same, throwing where it is missing.
  const Value& Get(size_t index, std::string_view name) const;
  bool Bool(size_t index, std::string_view name, bool otherwise) const;
  /// Throws for anything but an integer; none counts as missing.
  int64_t Int(size_t index, std::string_view name, int64_t otherwise) const;
  /// Throws for anything but a string.
  const Text& String(size_t index, std::string_view name) const;
};

/// What a filter, method or global function does with its subject (none for globals).
using Native = Value (*)(Interpreter& in, const Value& subject, Arguments& arguments);

}  // namespace prenorm::chat_template
