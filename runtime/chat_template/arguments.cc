// Lookup of arguments by place or name.
#include "runtime/chat_template/arguments.h"

#include <algorithm>

namespace prenorm::chat_template {

void Arguments::Expect(std::string_view function, std::initializer_list<std::string_view> parameters) const {
  if (positional.size() > parameters.size()) {
    TypeError(std::string(function) + "() takes at most " + std::to_string(parameters.size()) + " arguments, " +
              std::to_string(positional.size()) + " were given");
  }
  for (const auto& [name, value] : named) {
    const auto* found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end()) TypeError(std::string(function) + "() has no argument '" + name + "'");
    if (static_cast<size_t>(found - parameters.begin()) < positional.size()) {
      TypeError(std::string(function) + "() got argument '" + name + "' twice");
    }
  }
}

const Value* Arguments::Find(size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Value& Arguments::Get(size_t index, std::string_view name) const {
  const Value* value = Find(index, name);
  if (value == nullptr) TypeError("missing argument '" + std::string(name) + "'");
  return *value;
}

bool Arguments::Bool(size_t index, std::string_view name, bool otherwise) const {
  const Value* value = Find(index, name);
  return value == nullptr ? otherwise : value->Truthy();
}

int64_t Arguments::Int(size_t index, std::string_view name, int64_t otherwise) const {
  const Value* value = Find(index, name);
  if (value == nullptr || value->is_none()) return otherwise;
  RequireDefined(*value);
  const auto integer = value->ToInt();
  if (!integer) TypeError("argument '" + std::string(name) + "' must be an integer, not " + value->type_name());
  return *integer;
}

const Text& Arguments::String(size_t index, std::string_view name) const {
  const Value& value = Get(index, name);
  RequireDefined(value);
  const Text* text = value.as_text();
  if (text == nullptr) TypeError("argument '" + std::string(name) + "' must be a string, not " + value.type_name());
  return *text;
}

}  // namespace prenorm::chat_template
