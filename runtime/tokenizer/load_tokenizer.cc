// Tokenizer::Load: the tokenizer of a file or folder, whatever else of it can run.
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/loader/gguf.h"
#include "runtime/tokenizer/gguf_spec.h"
#include "runtime/tokenizer/json_spec.h"
#include "runtime/tokenizer/tokenizer_spec.h"

namespace prenorm {

Result<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    Result<TokenizerSpec> spec = SpecFromHfFolder(path);
    return spec.ok() ? BuildTokenizer(*std::move(spec)) : spec.status();
  }
  Result<GgufFile> opened = GgufFile::Open(path);
  if (!opened.ok()) return opened.status();
  const auto file = std::make_shared<GgufFile>(*std::move(opened));
  Result<TokenizerSpec> spec = SpecFromGguf(file->metadata(), path);
  if (!spec.ok()) return spec.status();
  spec->storage = file;  // Tokens are views of its bytes.
  return BuildTokenizer(*std::move(spec));
}

}  // namespace prenorm
