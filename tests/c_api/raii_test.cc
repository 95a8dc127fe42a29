// The C++17 layer: its answers are those of the C interface, its errors are exceptions, and
// exceptions of callbacks pass.
#include "prenorm/prenorm.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <type_traits>

namespace prenorm::api {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Model> && std::is_nothrow_move_constructible_v<Session>);
static_assert(!std::is_copy_constructible_v<Model> && !std::is_copy_constructible_v<Session>);

const char kTiny[] = PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf";

TEST(RaiiTest, GeneratesWhatTheCInterfaceGenerates) {
  const Model model = Model::Load(kTiny);
  Session session(model);
  const std::vector<int32_t> prompt = model.Tokenize("Once there was");
  GenerateOptions options;
  options.max_new_tokens = 12;
  std::string streamed;
  const Generation generation = session.Generate(prompt, options, [&](std::string_view text, int32_t) {
    streamed += text;
    return true;
  });
  EXPECT_EQ(streamed, generation.text);
  EXPECT_EQ(generation.prompt_tokens, prompt.size());

  prenorm_generate_options c_options = PRENORM_GENERATE_OPTIONS_INIT;
  c_options.max_new_tokens = 12;
  prenorm_result* result = nullptr;
  ASSERT_EQ(prenorm_generate(Session(model).get(), prompt.data(), prompt.size(), &c_options, &result, nullptr),
            PRENORM_OK);
  EXPECT_EQ(internal::TakeResult(result).text, generation.text);
}

TEST(RaiiTest, ChatsAndTellsTokensApart) {
  const Model model = Model::Load(kTiny);
  const std::string text = "Once there was";
  EXPECT_EQ(model.Detokenize(model.Tokenize(text, 0)), text);
  EXPECT_EQ(model.text(PRENORM_MODEL_ARCHITECTURE), "llama");
  Session session(model);
  GenerateOptions options;
  options.max_new_tokens = 5;
  const std::vector<Message> messages = {{"user", "Tell me a story."}};
  const Generation answer = session.Chat(messages, options);
  EXPECT_EQ(answer.tokens, Session(model).Generate(model.RenderChat(messages).tokens, options).tokens);
  EXPECT_EQ(session.Logits().size(), model.info().vocab_size);
  EXPECT_EQ(session.Logprobs().size(), model.info().vocab_size);
  EXPECT_GT(session.info().position, 0u);
}

TEST(RaiiTest, StopTextsAndBiasesReachTheLibrary) {
  const Model model = Model::Load(kTiny);
  GenerateOptions options;
  options.max_new_tokens = 3;
  options.ignore_end_tokens = true;
  options.logit_bias = {{7, 1e6f}};
  EXPECT_EQ(Session(model).Generate({1}, options).tokens, std::vector<int32_t>(3, 7));
  options.stop = {model.Detokenize({7})};
  EXPECT_EQ(Session(model).Generate({1}, options).text, "");
}

TEST(RaiiTest, ErrorsAreExceptionsWithStatusAndMessage) {
  try {
    Model::Load("/no/such/model.gguf");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), PRENORM_E_NOT_FOUND);
    EXPECT_NE(std::string(error.what()).find("/no/such/model.gguf"), std::string::npos);
  }
  EXPECT_THROW(Model::Load(kTiny, [](float) { return false; }), Error);
  const Model model = Model::Load(kTiny);
  Session session(model);
  EXPECT_THROW(session.Eval({-1}), Error);
  EXPECT_THROW(session.Logits(), Error);
  session.Cancel();
  EXPECT_THROW(session.Eval({1}), Error);
  session.Eval({1});
}

TEST(RaiiTest, AnExceptionOfTheCallbackComesOutOfTheCall) {
  const Model model = Model::Load(kTiny);
  Session session(model);
  EXPECT_THROW(session.Generate({1}, {}, [](std::string_view, int32_t) -> bool { throw std::out_of_range("mine"); }),
               std::out_of_range);
  session.Eval({1});  // Usable afterwards.
  EXPECT_THROW(Model::Load(kTiny, [](float) -> bool { throw std::out_of_range("mine"); }), std::out_of_range);
}

TEST(RaiiTest, SessionsAreRewoundForkedSavedAndRestored) {
  const Model model = Model::Load(kTiny);
  Session session(model), forked(model), restored(model);
  session.Eval({1, 20, 30, 40});
  const std::vector<float> expected = session.Logits();
  forked.ForkFrom(session, 3);
  restored.Restore(session.Save());
  session.Rewind(3);
  session.Eval({40});
  forked.Eval({40});
  EXPECT_EQ(session.Logits(), expected);
  EXPECT_EQ(forked.Logits(), expected);
  EXPECT_EQ(restored.Logits(), expected);
  EXPECT_THROW(session.Rewind(99), Error);
}

TEST(RaiiTest, LoadsFromMemory) {
  std::ifstream file(kTiny, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(Model::LoadMemory(bytes.data(), bytes.size()).info().vocab_size, Model::Load(kTiny).info().vocab_size);
}

}  // namespace
}  // namespace prenorm::api
