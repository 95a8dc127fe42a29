// The tests that templates may name behind `is`.
#pragma once

#include <string>
#include <string_view>

#include "runtime/chat_template/arguments.h"

namespace prenorm::chat_template {

struct TestEntry {
  std::string_view name;
  bool (*holds)(Interpreter& in, const Value& value, Arguments& arguments);
};

/// Null for a test that there is not.
const TestEntry* FindTest(std::string_view name);
/// What is said of such a one: its name, and those that there are.
std::string UnknownTest(std::string_view name);

}  // namespace prenorm::chat_template
