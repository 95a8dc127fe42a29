// Templates of released models, where their folder is: PRENORM_PEER_DIR. Renderings are compared by their hashes.
#include "runtime/chat_template/template.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

namespace prenorm::chat_template {
namespace {

struct PeerTemplate {
  const char* name;
  uint64_t hashes[110];
};
#include "tests/golden/chat_template_peers.inc"

uint64_t Fnv1a(const std::string& text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const unsigned char byte : text) value = (value ^ byte) * 0x100000001B3;
  return value;
}

std::vector<ChatMessage> ReadConversation(const char* json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded{std::string_view(json)};
  const simdjson::dom::array list = parser.parse(padded).get_array().value();
  std::vector<ChatMessage> messages;
  for (const simdjson::dom::element message : list) {
    messages.push_back({std::string(message["role"].get_string().value()),
                        std::string(message["content"].get_string().value()), simdjson::minify(message)});
  }
  return messages;
}

TEST(ChatTemplatePeerTest, RendersReleasedTemplatesAsJinja) {
  const char* folder = std::getenv("PRENORM_PEER_DIR");
  if (folder == nullptr) GTEST_SKIP() << "PRENORM_PEER_DIR is not set";
  for (const PeerTemplate& peer : kPeers) {
    const std::filesystem::path path = std::filesystem::path(folder) / "templates" / peer.name;
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file) << path;
    const std::string source((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const Result<Template> chat = Template::Compile(source);
    ASSERT_TRUE(chat.ok()) << peer.name << ": " << chat.status().message();
    size_t index = 0;
    for (const char* conversation : kConversations) {
      const std::vector<ChatMessage> messages = ReadConversation(conversation);
      for (const char* arguments : kArgumentSets) {
        for (const bool add_generation_prompt : {false, true}) {
          TemplateInput input;
          input.messages = messages;
          input.add_generation_prompt = add_generation_prompt;
          input.bos_token = "<s>";
          input.eos_token = "</s>";
          input.arguments = arguments;
          input.now.tm_year = 126;
          input.now.tm_mon = 6;
          input.now.tm_mday = 4;
          const Result<Rendering> rendering = chat->Render(input);
          const uint64_t expected = peer.hashes[index++];
          EXPECT_EQ(rendering.ok() ? Fnv1a(rendering->Text()) : 0, expected)
              << peer.name << "\n"
              << conversation << "\n"
              << arguments << "\n"
              << (rendering.ok() ? rendering->Text() : rendering.status().message());
        }
      }
    }
    EXPECT_EQ(index, std::size(peer.hashes));
  }
}

}  // namespace
}  // namespace prenorm::chat_template
