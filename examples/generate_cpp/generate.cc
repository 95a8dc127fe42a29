// Uses the installed library from outside: loads a model, continues a text, prints the words as they come.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <prenorm/generate.h>

template <typename T>
T Check(prenorm::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().message().c_str());
  std::exit(1);
}

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: generate MODEL.gguf TEXT\n"), 2;
  std::shared_ptr<const prenorm::Model> model = Check(prenorm::Model::Load(argv[1]));
  std::unique_ptr<prenorm::Session> session = Check(prenorm::Session::Create(model));
  std::vector<prenorm::TokenId> ids = Check(model->tokenizer().Encode(argv[2], {.add_special = true}));
  prenorm::GenerateOptions options;
  options.max_new_tokens = 48;
  options.sampler.temperature = 0;
  Check(prenorm::Generate(*session, ids, options, [](std::string_view text, prenorm::TokenId) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  }));
  std::puts("");
}
