// Models, tokens, generation and chat through the C interface: the same answers as the C++ one promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/c_api/c_helpers.h"

namespace prenorm::c_test {
namespace {

class GenerateTest : public CTest {
 protected:
  std::vector<char> TinyBytes() {
    std::ifstream file(TinyModelPath(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The text of a greedy run of `n` tokens.
  std::string Continue(prenorm_session* session, const std::vector<int32_t>& prompt, int64_t n,
                       prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT) {
    options.max_new_tokens = n;
    prenorm_result* result = nullptr;
    EXPECT_EQ(prenorm_generate(session, prompt.data(), prompt.size(), &options, &result, error()), PRENORM_OK)
        << message();
    const ResultPtr owner(result);
    info_ = PRENORM_RESULT_INFO_INIT;
    EXPECT_EQ(prenorm_result_get_info(result, &info_, error()), PRENORM_OK) << message();
    tokens_.assign(info_.tokens, info_.tokens + info_.n_tokens);
    return std::string(info_.text, info_.n_bytes);
  }

  prenorm_result_info info_ = PRENORM_RESULT_INFO_INIT;
  std::vector<int32_t> tokens_;
};

TEST_F(GenerateTest, AModelFromMemoryAnswersLikeTheFile) {
  const std::vector<int32_t> prompt = Tokenize("Once there was");
  const std::string expected = Continue(session_.get(), prompt, 20);
  std::vector<char> bytes = TinyBytes();
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &model, error()), PRENORM_OK) << message();
  model_.reset(model);
  std::fill(bytes.begin(), bytes.end(), 'x');  // The model has its own copy.
  EXPECT_EQ(Continue(MakeSession().get(), prompt, 20), expected);
  EXPECT_FALSE(expected.empty());
}

TEST_F(GenerateTest, BytesAtAnyAddressWill) {
  std::vector<char> bytes = TinyBytes();
  bytes.insert(bytes.begin(), 'x');
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data() + 1, bytes.size() - 1, nullptr, &model, error()), PRENORM_OK)
      << message();
  prenorm_model_free(model);
}

TEST_F(GenerateTest, LoadingReportsProgressAndCanBeCancelled) {
  std::vector<float> shares;
  prenorm_model_options options = PRENORM_MODEL_OPTIONS_INIT;
  options.progress_user = &shares;
  options.progress = [](void* user, float share) -> int32_t {
    static_cast<std::vector<float>*>(user)->push_back(share);
    return PRENORM_CONTINUE;
  };
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load(TinyModelPath().c_str(), &options, &model, error()), PRENORM_OK) << message();
  prenorm_model_free(model);
  ASSERT_GE(shares.size(), 2u);
  EXPECT_GE(shares.front(), 0.0f);
  EXPECT_FLOAT_EQ(shares.back(), 1.0f);

  options.progress = [](void*, float) -> int32_t { return PRENORM_STOP; };
  model = nullptr;
  EXPECT_EQ(prenorm_model_load(TinyModelPath().c_str(), &options, &model, error()), PRENORM_E_CANCELLED);
  EXPECT_EQ(model, nullptr);
  options.progress = [](void*, float) -> int32_t { throw 1; };  // Forbidden, and yet no end of the process.
  EXPECT_EQ(prenorm_model_load(TinyModelPath().c_str(), &options, &model, error()), PRENORM_E_CANCELLED);
}

TEST_F(GenerateTest, TheLogSinkHearsOfTheSession) {
  std::string log;
  prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
  options.threads = 1;
  options.context = 64;
  options.log_user = &log;
  options.log = [](void* user, int32_t, const char* text) { *static_cast<std::string*>(user) += text; };
  prenorm_session* session = nullptr;
  ASSERT_EQ(prenorm_session_new(model_.get(), &options, &session, error()), PRENORM_OK) << message();
  prenorm_session_free(session);
  EXPECT_NE(log.find("threads 1"), std::string::npos) << log;
  EXPECT_NE(log.find("context 64"), std::string::npos) << log;
}

TEST_F(GenerateTest, TokensAndBack) {
  const std::string text = "Once there was a \xF0\x9F\x98\xB8";
  std::vector<int32_t> tokens(100);
  size_t count = 0, bytes = 0;
  ASSERT_EQ(prenorm_tokenize(model_.get(), text.data(), text.size(), 0, nullptr, 0, &count, error()), PRENORM_OK);
  const size_t needed = count;
  ASSERT_EQ(prenorm_tokenize(model_.get(), text.data(), text.size(), 0, tokens.data(), count, &count, error()),
            PRENORM_OK);
  EXPECT_EQ(count, needed);
  char back[100];
  ASSERT_EQ(prenorm_detokenize(model_.get(), tokens.data(), count, 0, back, sizeof(back), &bytes, error()), PRENORM_OK);
  EXPECT_EQ(bytes, text.size());
  EXPECT_EQ(std::string(back), text);
  // Without room for the final zero nothing is written.
  back[0] = '?';
  EXPECT_EQ(prenorm_detokenize(model_.get(), tokens.data(), count, 0, back, bytes, &bytes, error()),
            PRENORM_E_BUFFER_TOO_SMALL);
  EXPECT_EQ(back[0], '?');
  std::string joined;
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(prenorm_token_piece(model_.get(), tokens[i], 0, back, sizeof(back), &bytes, error()), PRENORM_OK);
    joined.append(back, bytes);
  }
  EXPECT_NE(joined.find("\xF0\x9F\x98\xB8"), std::string::npos);
}

TEST_F(GenerateTest, TheCallbackGetsTheTextOfTheResult) {
  struct Seen {
    std::string text;
    std::vector<int32_t> tokens;
  } seen;
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.on_token_user = &seen;
  options.on_token = [](void* user, const char* text, size_t bytes, int32_t token) -> int32_t {
    auto& s = *static_cast<Seen*>(user);
    s.text.append(text, bytes);
    s.tokens.push_back(token);
    EXPECT_EQ(text[bytes], '\0');
    return PRENORM_CONTINUE;
  };
  const std::vector<int32_t> prompt = Tokenize("Once there was");
  EXPECT_EQ(Continue(session_.get(), prompt, 20, options), seen.text);
  EXPECT_EQ(tokens_, seen.tokens);
  EXPECT_EQ(info_.prompt_tokens, prompt.size());
  EXPECT_GT(info_.prefill_ns, 0u);

  options.on_token = [](void*, const char*, size_t, int32_t) -> int32_t { return PRENORM_STOP; };
  Continue(MakeSession().get(), prompt, 20, options);
  EXPECT_EQ(info_.finish_reason, PRENORM_FINISH_INTERRUPTED);
  EXPECT_EQ(tokens_.size(), 1u);
}

TEST_F(GenerateTest, AStopTextEndsTheAnswerBeforeIt) {
  const std::vector<int32_t> prompt = Tokenize("Once there was");
  const std::string whole = Continue(session_.get(), prompt, 20);
  ASSERT_GT(whole.size(), 8u);
  const std::string stop = whole.substr(4, 3);
  const char* const stops[] = {"something that does not come", stop.c_str()};
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.stop = stops;
  options.n_stop = 2;
  EXPECT_EQ(Continue(MakeSession().get(), prompt, 20, options), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(info_.finish_reason, PRENORM_FINISH_STOP);
}

TEST_F(GenerateTest, BiasAndSeedReachTheSampler) {
  const std::vector<int32_t> prompt = Tokenize("Once there was");
  const int32_t wanted = 7;
  const float much = 1e6f;
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.ignore_end_tokens = 1;
  options.bias_tokens = &wanted;
  options.bias_values = &much;
  options.n_bias = 1;
  Continue(MakeSession().get(), prompt, 3, options);
  EXPECT_EQ(tokens_, std::vector<int32_t>(3, wanted));

  options = PRENORM_GENERATE_OPTIONS_INIT;
  options.ignore_end_tokens = 1;
  options.temperature = 2.0f;
  options.seed = 1;
  Continue(MakeSession().get(), prompt, 20, options);
  const std::vector<int32_t> first = tokens_;
  Continue(MakeSession().get(), prompt, 20, options);
  EXPECT_EQ(tokens_, first);
  options.seed = 2;
  Continue(MakeSession().get(), prompt, 20, options);
  EXPECT_NE(tokens_, first);
}

TEST_F(GenerateTest, AChatIsTheRenderedPromptContinued) {
  const prenorm_chat_message messages[] = {PRENORM_CHAT_MESSAGE_INIT("user", "Tell me a story.")};
  prenorm_result* rendered = nullptr;
  ASSERT_EQ(prenorm_render_chat(model_.get(), messages, 1, nullptr, &rendered, error()), PRENORM_OK) << message();
  const ResultPtr owner(rendered);
  prenorm_result_info prompt = PRENORM_RESULT_INFO_INIT;
  ASSERT_EQ(prenorm_result_get_info(rendered, &prompt, error()), PRENORM_OK);
  EXPECT_NE(std::string(prompt.text).find("Tell me a story."), std::string::npos);
  const std::string expected = Continue(session_.get(), {prompt.tokens, prompt.tokens + prompt.n_tokens}, 12);

  const Session chat = MakeSession();
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 12;
  for (int i = 0; i < 2; ++i) {  // The second time over what the session holds from the first.
    prenorm_result* result = nullptr;
    ASSERT_EQ(prenorm_chat(chat.get(), messages, 1, nullptr, &options, &result, error()), PRENORM_OK) << message();
    const ResultPtr answer(result);
    prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
    ASSERT_EQ(prenorm_result_get_info(result, &info, error()), PRENORM_OK);
    EXPECT_EQ(std::string(info.text, info.n_bytes), expected);
  }
}

TEST_F(GenerateTest, TheModelTellsOfItself) {
  prenorm_model_info info = PRENORM_MODEL_INFO_INIT;
  ASSERT_EQ(prenorm_model_get_info(model_.get(), &info, error()), PRENORM_OK) << message();
  EXPECT_GT(info.vocab_size, 0u);
  EXPECT_GT(info.n_layers, 0u);
  EXPECT_EQ(Logits([&] {
              const int32_t token = 1;
              EXPECT_EQ(prenorm_session_eval(session_.get(), &token, 1, error()), PRENORM_OK);
              return session_.get();
            }())
                .size(),
            info.vocab_size);
  const char* text = nullptr;
  ASSERT_EQ(prenorm_model_get_text(model_.get(), PRENORM_MODEL_ARCHITECTURE, &text, error()), PRENORM_OK);
  EXPECT_STREQ(text, "llama");
  for (const int32_t which : {PRENORM_MODEL_NAME, PRENORM_MODEL_QUANTIZATION, PRENORM_MODEL_CHAT_TEMPLATE}) {
    ASSERT_EQ(prenorm_model_get_text(model_.get(), which, &text, error()), PRENORM_OK);
    EXPECT_NE(text, nullptr);
  }
}

TEST_F(GenerateTest, AModelWithoutAChatTemplateHasAnEmptyOne) {
  std::vector<char> bytes = TinyBytes();
  const std::string_view key = "tokenizer.chat_template";
  const auto at = std::search(bytes.begin(), bytes.end(), key.begin(), key.end());
  ASSERT_NE(at, bytes.end());
  *at = 'T';  // Another key, which nothing reads.
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &model, error()), PRENORM_OK) << message();
  model_.reset(model);
  const char* text = nullptr;
  ASSERT_EQ(prenorm_model_get_text(model_.get(), PRENORM_MODEL_CHAT_TEMPLATE, &text, error()), PRENORM_OK);
  EXPECT_STREQ(text, "");
}

}  // namespace
}  // namespace prenorm::c_test
