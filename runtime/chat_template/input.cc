// Messages and arguments as values.
#include "runtime/chat_template/input.h"

#include <algorithm>
#include <array>

#include "runtime/chat_template/json.h"
#include "runtime/tokenizer/utf8.h"

namespace prenorm::chat_template {
namespace {

Value Data(Budget& budget, std::string_view text) {
  budget.Work(text.size());
  budget.CheckString(text.size());
  return Value::String(ReplaceInvalidUtf8(text), Origin::kData);
}

// The members of a JSON object.
Status AddMembers(Budget& budget, std::string_view json, const std::string& what, Dict& out) {
  if (json.empty()) return Status();
  Result<Value> value = ParseJson(budget, json, what);
  if (!value.ok()) return value.status();
  const Dict* dict = value->as_dict();
  if (dict == nullptr)
    return Status(StatusCode::kInvalidArgument,
                  what + ": expected a JSON object, found " + value->type_name() + "\nWrite {\"name\": value}.");
  for (const auto& [key, member] : dict->entries) out.Set(budget, key, member);
  return Status();
}

// Reasoning comes under several names; transformers fills in the others.
void AliasReasoning(Budget& budget, Dict& message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const Value* found = message.Find(name);
    if (found == nullptr) continue;
    const Value reasoning = *found;
    message.Set(budget, Value::String("reasoning_content"), reasoning);
    if (message.Find("thinking") == nullptr) message.Set(budget, Value::String("thinking"), reasoning);
    return;
  }
}

}  // namespace

bool IsKnownRole(std::string_view role) {
  static constexpr std::array<std::string_view, 7> kRoles = {"system", "developer", "user",    "assistant",
                                                             "tool",   "ipython",   "function"};
  return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
}

Result<Dict> MakeVariables(Budget& budget, const TemplateInput& input) {
  Values messages;
  for (size_t i = 0; i < input.messages.size(); ++i) {
    const ChatMessage& message = input.messages[i];
    Dict members;
    members.Set(budget, Value::String("role"),
                IsKnownRole(message.role) ? Value::String(message.role) : Data(budget, message.role));
    members.Set(budget, Value::String("content"), Data(budget, message.content));
    const std::string what = "fields of message " + std::to_string(i + 1);
    if (Status status = AddMembers(budget, message.fields, what, members); !status.ok()) return status;
    Dict dict;  // Without what is null, as in transformers.
    for (const auto& [key, member] : members.entries) {
      if (!member.is_none()) dict.Set(budget, key, member);
    }
    AliasReasoning(budget, dict);
    messages.push_back(MakeDict(budget, std::move(dict)));
  }
  Dict variables;
  variables.Set(budget, Value::String("tools"), Value());
  variables.Set(budget, Value::String("documents"), Value());
  if (input.bos_token) variables.Set(budget, Value::String("bos_token"), Value::String(*input.bos_token));
  if (input.eos_token) variables.Set(budget, Value::String("eos_token"), Value::String(*input.eos_token));
  if (Status status = AddMembers(budget, input.arguments, "template arguments", variables); !status.ok()) return status;
  variables.Set(budget, Value::String("messages"), MakeList(budget, std::move(messages)));
  variables.Set(budget, Value::String("add_generation_prompt"), Value(input.add_generation_prompt));
  return variables;
}

}  // namespace prenorm::chat_template
