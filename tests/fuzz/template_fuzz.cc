// A template, compiled and rendered: its source, then after a zero byte the JSON of its arguments.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/chat_template/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace prenorm::chat_template;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  Limits limits;  // Small enough for thousands of runs a second.
  limits.steps = 20000;
  limits.work_bytes = size_t{1} << 22;
  const prenorm::Result<Template> chat = Template::Compile(input.substr(0, zero), limits);
  if (!chat.ok()) return 0;
  const std::vector<prenorm::ChatMessage> messages = {
      {"system", "Be brief."}, {"user", "Hi <|x|>"}, {"assistant", "Hello"}};
  TemplateInput chat_input;
  chat_input.messages = messages;
  if (zero != std::string_view::npos) chat_input.arguments = input.substr(zero + 1);
  (void)chat->Render(chat_input).ok();
  return 0;
}
