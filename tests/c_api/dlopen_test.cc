// The library as a plug-in: loaded at run time, used, closed, loaded again.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "prenorm/prenorm.h"

namespace {

template <class Function>
Function* Find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

// Loads the library, continues a text, and closes it again.
std::string UseOnce() {
  void* library = dlopen(PRENORM_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("dlopen: ") + dlerror();
  const auto load = Find<decltype(prenorm_model_load)>(library, "prenorm_model_load");
  const auto free_model = Find<decltype(prenorm_model_free)>(library, "prenorm_model_free");
  const auto new_session = Find<decltype(prenorm_session_new)>(library, "prenorm_session_new");
  const auto free_session = Find<decltype(prenorm_session_free)>(library, "prenorm_session_free");
  const auto generate = Find<decltype(prenorm_generate)>(library, "prenorm_generate");
  const auto get_info = Find<decltype(prenorm_result_get_info)>(library, "prenorm_result_get_info");
  const auto free_result = Find<decltype(prenorm_result_free)>(library, "prenorm_result_free");

  prenorm_model* model = nullptr;
  prenorm_session* session = nullptr;
  prenorm_result* result = nullptr;
  prenorm_session_options session_options = PRENORM_SESSION_OPTIONS_INIT;
  session_options.threads = 2;  // The OpenMP runtime keeps the second one after the close.
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 8;
  const int32_t prompt[] = {1, 20, 30};
  EXPECT_EQ(load(PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf", nullptr, &model, nullptr), PRENORM_OK);
  EXPECT_EQ(new_session(model, &session_options, &session, nullptr), PRENORM_OK);
  EXPECT_EQ(generate(session, prompt, 3, &options, &result, nullptr), PRENORM_OK);
  prenorm_result_info info = PRENORM_RESULT_INFO_INIT;
  EXPECT_EQ(get_info(result, &info, nullptr), PRENORM_OK);
  const std::string text(info.text, info.n_bytes);
  free_result(result);
  free_session(session);
  free_model(model);
  EXPECT_EQ(dlclose(library), 0);
  return text;
}

TEST(DlopenTest, LoadedUsedAndClosedAgainAndAgain) {
  const std::string first = UseOnce();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(UseOnce(), first);
}

}  // namespace
