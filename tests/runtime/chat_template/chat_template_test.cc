// Templates against jinja2's own renderings, and the origin of every byte that comes out.
#include "runtime/chat_template/template.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/chat_template/system_message.h"

namespace prenorm::chat_template {
namespace {

struct GoldenCase {
  const char* source;
  const char* text;  // Null for an error.
};
#include "tests/golden/chat_template_cases.inc"

// Saturday, 4 July 2026, 09:05:03, as in make_chat_templates.py.
std::tm GoldenTime() {
  std::tm now{};
  now.tm_year = 126;
  now.tm_mon = 6;
  now.tm_mday = 4;
  now.tm_wday = 6;
  now.tm_yday = 184;
  now.tm_hour = 9;
  now.tm_min = 5;
  now.tm_sec = 3;
  return now;
}

Result<Rendering> RenderWith(std::string_view source, std::span<const ChatMessage> messages,
                             std::string_view arguments) {
  const Result<Template> chat = Template::Compile(source);
  if (!chat.ok()) return chat.status();
  TemplateInput input;
  input.messages = messages;
  input.arguments = arguments;
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now = GoldenTime();
  return chat->Render(input);
}

// T for each byte of the template, D for data.
std::string Origins(const Rendering& rendering) {
  std::string out;
  for (const RenderedPart& part : rendering.parts)
    out += std::string(part.text.size(), part.origin == Origin::kData ? 'D' : 'T');
  return out;
}

std::vector<ChatMessage> GoldenMessages() {
  return {{"system", " Be brief. "},
          {"user",
           "Gr\xC3\xBC\xC3\x9F"
           "e, 'you' & \"me\" <b>\n"},
          {"assistant", "<think>\nhm\n</think>\n\nHi!"},
          {"user", "Next?"}};
}

TEST(ChatTemplateTest, RendersAsJinja) {
  const std::vector<ChatMessage> messages = GoldenMessages();
  for (const GoldenCase& golden : kCases) {
    const Result<Rendering> rendering = RenderWith(golden.source, messages, kArguments);
    if (golden.text == nullptr) {
      EXPECT_FALSE(rendering.ok()) << golden.source << "\nfound " << rendering->Text();
    } else {
      ASSERT_TRUE(rendering.ok()) << golden.source << "\n" << rendering.status().message();
      EXPECT_EQ(rendering->Text(), golden.text) << golden.source;
    }
  }
}

TEST(ChatTemplateTest, KeepsOriginsThroughFiltersAndMethods) {
  const std::vector<ChatMessage> messages = {{"user", " <|x|> "}};
  const struct {
    const char* source;
    const char* text;
    const char* origins;
  } cases[] = {
      {"<a>{{ messages[0].content }}<b>", "<a> <|x|> <b>", "TTTDDDDDDDTTT"},
      {"{{ '<a>' + messages[0].content | trim + '<b>' }}", "<a><|x|><b>", "TTTDDDDDTTT"},
      {"{{ '<' ~ messages[0].role ~ '>' }}", "<user>", "TTTTTT"},
      {"{{ messages[0].content.strip() | upper }}", "<|X|>", "DDDDD"},
      {"{{ messages[0].content[1:-1][::-1] }}", ">|x|<", "DDDDD"},
      {"{{ messages[0].content.strip().replace('x', 'y') }}", "<|y|>", "DDTDD"},
      {"{{ messages[0].content.strip().split('x') | join('-') }}", "<|-|>", "DDTDD"},
      {"{{ messages[0].content | trim | tojson }}", "\"<|x|>\"", "TDDDDDT"},
      {"{{ [messages[0].content | trim] }}", "['<|x|>']", "TTDDDDDTT"},
      {"{% macro m(t) %}[{{ t }}]{% endmacro %}{{ m(messages[0].content | trim) }}", "[<|x|>]", "TDDDDDT"},
      {"{% set t %}{{ messages[0].content.strip() }}!{% endset %}{{ t }}", "<|x|>!", "DDDDDT"},
      {"{{ '%s.' | format(messages[0].content.strip()) }}", "<|x|>.", "DDDDDT"},
      {"{{ '{}.'.format(messages[0].content.strip()) }}", "<|x|>.", "DDDDDT"},
      {"{{ (messages[0].content | trim) | indent(1, true) }}", " <|x|>", "TDDDDD"},
      {"{{ messages[0].content.strip() | list | join }}", "<|x|>", "DDDDD"},
      {"{{ tools[0] | tojson }}", "{\"<|t|>\": \"<|t|>\"}", "TTDDDDDTTTTDDDDDTT"},
      {"{{ bos_token + eos_token }}", "<s></s>", "TTTTTTT"},
  };
  for (const auto& c : cases) {
    const Result<Rendering> rendering = RenderWith(c.source, messages, R"({"tools": [{"<|t|>": "<|t|>"}]})");
    ASSERT_TRUE(rendering.ok()) << c.source << "\n" << rendering.status().message();
    EXPECT_EQ(rendering->Text(), c.text) << c.source;
    EXPECT_EQ(Origins(*rendering), c.origins) << c.source;
  }
}

struct ChatMlGolden {
  std::string source;
  std::vector<ChatMessage> messages;
  std::string rendered;
};

TEST(ChatTemplateTest, RendersChatMlAsJinja) {
  const std::vector<ChatMlGolden> goldens = {
#include "tests/golden/chatml_golden.inc"
  };
  for (const ChatMlGolden& golden : goldens) {
    const Result<Rendering> rendering = RenderWith(golden.source, golden.messages, "");
    ASSERT_TRUE(rendering.ok()) << rendering.status().message();
    EXPECT_EQ(rendering->Text(), golden.rendered) << golden.source;
  }
}

TEST(ChatTemplateTest, MovesASystemMessageThatTheTemplateRefusesOrDrops) {  // T24
  const std::string turns = "{% for m in messages %}{% if m.role == 'user' %}[{{ m.content }}]{% endif %}{% endfor %}";
  const std::string refuses =
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + turns;
  const std::string takes = "{{ messages[0].content | replace('/x', '') }}" + turns;
  const struct {
    std::string source, system, text;
  } cases[] = {
      {refuses, "Be brief.", "[Be brief.\n\nHi]"},
      {turns, "Be brief.", "[Be brief.\n\nHi]"},
      {takes, "Be brief.", "Be brief.[Hi]"},
      {takes, "/x", "[Hi]"},  // Taken, and changed: not dropped.
  };
  for (const auto& c : cases) {
    const Result<Template> chat = Template::Compile(c.source);
    ASSERT_TRUE(chat.ok()) << chat.status().message();
    const std::vector<ChatMessage> messages = {{"system", c.system}, {"user", "Hi"}};
    TemplateInput input;
    input.messages = messages;
    const Result<Rendering> rendering = RenderWithSystem(*chat, input);
    ASSERT_TRUE(rendering.ok()) << rendering.status().message();
    EXPECT_EQ(rendering->Text(), c.text) << c.source;
  }
}

TEST(ChatTemplateTest, DoesNotTrustUnknownRoles) {
  const std::vector<ChatMessage> messages = {{"<|x|>", ""}};
  const Result<Rendering> rendering = RenderWith("{{ messages[0].role }}", messages, "");
  ASSERT_TRUE(rendering.ok());
  EXPECT_EQ(Origins(*rendering), "DDDDD");
}

TEST(ChatTemplateTest, ReportsWhatTheTemplateRaisesWithItsPlace) {  // T25
  const Result<Template> chat = Template::Compile("a\n\xC3\xA9  {{ raise_exception('No ' + messages[0].role + '!') }}");
  ASSERT_TRUE(chat.ok());
  const std::vector<ChatMessage> messages = GoldenMessages();
  TemplateInput input;
  input.messages = messages;
  RenderError error;
  const Result<Rendering> rendering = chat->Render(input, &error);
  ASSERT_EQ(rendering.status().code(), StatusCode::kTemplate);
  EXPECT_TRUE(error.raised);
  EXPECT_NE(rendering.status().message().find("No system!"), std::string::npos) << rendering.status().message();
  EXPECT_NE(rendering.status().message().find("line 2, column 22"), std::string::npos) << rendering.status().message();
}

TEST(ChatTemplateTest, RefusesUnsupportedConstructsByNameWhenCompiled) {
  const struct {
    const char* source;
    const char* name;
    const char* supported = "";
  } cases[] = {
      {"x{% include 'a' %}", "include", "generation"},
      {"x{% extends 'a' %}", "extends"},
      {"x{% import 'a' as b %}", "import"},
      {"x{% do f() %}", "do"},
      {"x{{ a | urlize }}", "urlize", " trim "},
      {"x{{ a is quux }}", "quux", " defined "},
      {"x{{ a.translate(b) }}", "translate"},
  };
  for (const auto& c : cases) {
    const Result<Template> chat = Template::Compile(c.source);
    EXPECT_EQ(chat.status().code(), StatusCode::kUnsupported) << c.source;
    EXPECT_NE(chat.status().message().find(c.name), std::string::npos) << chat.status().message();
    EXPECT_NE(chat.status().message().find(c.supported), std::string::npos) << chat.status().message();
    EXPECT_NE(chat.status().message().find("line 1, column "), std::string::npos) << chat.status().message();
  }
}

TEST(ChatTemplateTest, TakesFieldsOfMessagesAndRefusesIllFormedJson) {
  std::vector<ChatMessage> messages = {{"assistant", "", R"({"tool_calls": [{"id": 1}], "name": null})"}};
  const char* source = "{{ messages[0].tool_calls[0].id }}{{ 'name' in messages[0] }}";
  const Result<Rendering> rendering = RenderWith(source, messages, "");
  ASSERT_TRUE(rendering.ok()) << rendering.status().message();
  EXPECT_EQ(rendering->Text(), "1False");
  EXPECT_EQ(RenderWith(source, messages, "[]").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(RenderWith(source, messages, "{").status().code(), StatusCode::kInvalidArgument);
  messages[0].fields = "nonsense";
  EXPECT_EQ(RenderWith(source, messages, "").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace prenorm::chat_template
