/* Continues a text: from C, through the shared or the static library. */
#include <prenorm/prenorm.h>
#include <stdio.h>
#include <string.h>

static int32_t print(void* user, const char* text, size_t bytes, int32_t token) {
  (void)user, (void)token;
  return fwrite(text, 1, bytes, stdout) == bytes ? PRENORM_CONTINUE : PRENORM_STOP;
}

int main(int argc, char** argv) {
  prenorm_generate_options options = PRENORM_GENERATE_OPTIONS_INIT;
  prenorm_error* error = prenorm_error_new();
  prenorm_model* model = NULL;
  prenorm_session* session = NULL;
  int32_t tokens[4096];
  size_t n_tokens = 0;
  if (argc != 3) return fprintf(stderr, "usage: generate MODEL TEXT\n"), 2;
  options.max_new_tokens = 48;
  options.on_token = print;
  if (prenorm_model_load(argv[1], NULL, &model, error) || prenorm_session_new(model, NULL, &session, error) ||
      prenorm_tokenize(model, argv[2], strlen(argv[2]), PRENORM_ADD_SPECIAL, tokens, 4096, &n_tokens, error) ||
      prenorm_generate(session, tokens, n_tokens, &options, NULL, error)) {
    fprintf(stderr, "%s\n", prenorm_error_message(error));
  }
  const int failed = prenorm_error_status(error) != PRENORM_OK;
  puts("");
  prenorm_session_free(session), prenorm_model_free(model), prenorm_error_free(error);
  return failed;
}
