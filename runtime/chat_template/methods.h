// Methods of strings, lists and dicts, as Jinja's immutable sandbox lets templates use them.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/chat_template/arguments.h"

namespace prenorm::chat_template {

/// The bound method; for one that would change its value an undefined that says so when it is called; null for none.
std::unique_ptr<Value> FindMethod(const Value& subject, std::string_view name);

/// Whether Python has a method of this name that this engine does not have for any type.
bool IsUnsupportedMethod(std::string_view name);

struct MethodEntry {
  std::string_view name;
  Native call;
};
extern const MethodEntry kStringMethods[];  ///< Ended by an entry without function.

}  // namespace prenorm::chat_template
