// Case R21: null, empty, wrong and oversized arguments of every function of prenorm.h give a status and a message.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/c_api/bad_calls.h"

namespace prenorm::c_test {
namespace {

TEST_F(ArgumentsTest, BadArgumentsGiveAStatusAndAMessageAndChangeNothing) {  // R21
  for (const BadCall& bad : AllCalls()) {
    SCOPED_TRACE(std::string(bad.function) + ", " + bad.what);
    EXPECT_EQ(bad.call(error()), bad.expected) << message();
    EXPECT_EQ(prenorm_error_status(error()), bad.expected);
    EXPECT_NE(message(), "");
    EXPECT_EQ(bad.call(nullptr), bad.expected);
  }
  EXPECT_EQ(made_model_, nullptr);
  EXPECT_EQ(made_session_, nullptr);
  EXPECT_EQ(made_result_, nullptr);
  EXPECT_EQ(made_encoder_, nullptr);
  EXPECT_EQ(Position(session_.get()), 0u);
  const std::vector<int32_t> tokens = Tokenize("It still works");
  EXPECT_EQ(prenorm_session_eval(session_.get(), tokens.data(), tokens.size(), error()), PRENORM_OK) << message();
}

TEST_F(ArgumentsTest, TheTableHasEveryFunctionOfTheHeader) {
  std::set<std::string> tested = {"prenorm_abi_version",   "prenorm_version",       "prenorm_status_name",
                                  "prenorm_error_new",     "prenorm_error_free",    "prenorm_error_status",
                                  "prenorm_error_message", "prenorm_model_free",    "prenorm_session_free",
                                  "prenorm_result_free",   "prenorm_buffer_free",   "prenorm_session_cancel",
                                  "prenorm_encoder_free",  "prenorm_encoder_cancel"};  // Cannot fail: the test below.
  for (const BadCall& bad : AllCalls()) tested.insert(bad.function);
  std::stringstream header;
  header << std::ifstream(PRENORM_SOURCE_DIR "/include/prenorm/prenorm.h").rdbuf();
  const std::string text = header.str();
  const std::regex declaration("PRENORM_API [^(;]*?(prenorm_[a-z_]+)\\(");
  size_t declared = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it, ++declared) {
    EXPECT_EQ(tested.count((*it)[1]), 1u) << (*it)[1];
  }
  EXPECT_EQ(declared, tested.size());
}

TEST_F(ArgumentsTest, FunctionsThatCannotFailTakeNull) {
  prenorm_error_free(nullptr);
  prenorm_model_free(nullptr);
  prenorm_session_free(nullptr);
  prenorm_session_cancel(nullptr);
  prenorm_encoder_free(nullptr);
  prenorm_encoder_cancel(nullptr);
  prenorm_result_free(nullptr);
  prenorm_buffer_free(nullptr);
  EXPECT_EQ(prenorm_error_status(nullptr), PRENORM_OK);
  EXPECT_STREQ(prenorm_error_message(nullptr), "");
  EXPECT_STREQ(prenorm_status_name(PRENORM_E_BUSY), "busy");
  EXPECT_STREQ(prenorm_status_name(12345), "unknown");
  EXPECT_STREQ(prenorm_status_name(-1), "unknown");
  EXPECT_EQ(prenorm_abi_version(), static_cast<uint32_t>(PRENORM_ABI_VERSION));
}

TEST_F(ArgumentsTest, StructsOfAnotherAgeAreUnderstood) {
  // An older program's options end early; what it does not know keeps its default.
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 2;
  options.size = offsetof(prenorm_generate_options, seed);
  options.temperature = -5.0f;  // Behind its end: must not be read.
  const std::vector<int32_t> tokens = Tokenize("Once");
  prenorm_result* result = nullptr;
  ASSERT_EQ(prenorm_generate(session_.get(), tokens.data(), tokens.size(), &options, &result, error()), PRENORM_OK)
      << message();
  const ResultPtr owner(result);

  // A newer program's info is larger: the rest becomes zero.
  struct {
    prenorm_result_info info;
    uint64_t later;
  } larger = {PRENORM_RESULT_INFO_INIT, 7};
  larger.info.size = sizeof(larger);
  ASSERT_EQ(prenorm_result_get_info(result, &larger.info, error()), PRENORM_OK) << message();
  EXPECT_EQ(larger.info.n_tokens, 2u);
  EXPECT_EQ(larger.later, 0u);

  // An older program's info is smaller: nothing behind its end is written.
  prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
  info.size = offsetof(prenorm_result_info, prefill_ns);
  info.prefill_ns = 77;
  ASSERT_EQ(prenorm_result_get_info(result, &info, error()), PRENORM_OK) << message();
  EXPECT_EQ(info.n_tokens, 2u);
  EXPECT_EQ(info.prefill_ns, 77u);
}

}  // namespace
}  // namespace prenorm::c_test
