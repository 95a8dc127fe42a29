// Case R16: a cache that cannot be allocated is a status with the bytes needed, and the host goes on.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <regex>

#include "tests/c_api/c_helpers.h"
#include "tests/support/small_llama.h"

namespace prenorm::c_test {
namespace {

TEST(MemoryTest, ACacheThatDoesNotFitIsAStatusWithTheBytesNeeded) {  // R16
  const std::vector<uint8_t> bytes = LlamaWithALargeCache().Build();
  const Error error(prenorm_error_new());
  prenorm_model* model = nullptr;
  ASSERT_EQ(prenorm_model_load_memory(bytes.data(), bytes.size(), nullptr, &model, error.get()), PRENORM_OK)
      << prenorm_error_message(error.get());
  const Model owner(model);

  // Machines that have the memory are given less of it.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  const rlimit old = limit;
  limit.rlim_cur = rlim_t{64} << 30;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space themselves";
#endif
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  prenorm_session_options options = PRENORM_SESSION_OPTIONS_INIT;
  options.context = 1048576;
  options.cache = PRENORM_CACHE_F16;
  prenorm_session* session = nullptr;
  const prenorm_status status = prenorm_session_new(model, &options, &session, error.get());
  const std::string message = prenorm_error_message(error.get());
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_EQ(status, PRENORM_E_OUT_OF_MEMORY) << message;
  EXPECT_EQ(session, nullptr);
  std::smatch match;
  ASSERT_TRUE(std::regex_search(message, match, std::regex("needs ([0-9]+) bytes"))) << message;
  EXPECT_GE(std::stoull(match[1]), 137438953472u);
  EXPECT_NE(message.find("context"), std::string::npos) << message;

  options.context = 64;
  ASSERT_EQ(prenorm_session_new(model, &options, &session, error.get()), PRENORM_OK)
      << prenorm_error_message(error.get());
  const int32_t token = 1;
  EXPECT_EQ(prenorm_session_eval(session, &token, 1, error.get()), PRENORM_OK) << prenorm_error_message(error.get());
  prenorm_session_free(session);
}

}  // namespace
}  // namespace prenorm::c_test
