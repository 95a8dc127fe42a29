// Recognizes what people pass to a model loader by mistake, by the first bytes.
#include "runtime/loader/file_kind.h"

#include <string_view>

namespace prenorm {

std::optional<std::string> DescribeForeignFile(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return "an empty file";
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), bytes.size() < 512 ? bytes.size() : 512);
  if (head.starts_with("version https://git-lfs")) {
    return "a Git LFS pointer: the model itself was not downloaded (git lfs pull fetches it)";
  }
  if (head.starts_with("PK\x03\x04")) return "a ZIP archive (a PyTorch checkpoint, perhaps)";
  if (head.starts_with("\x1f\x8b")) return "a gzip archive";
  for (const char* old : {"lmgg", "fmgg", "tjgg", "algg"}) {
    if (head.starts_with(old)) return "a GGML file from before GGUF: convert it, or download it as GGUF";
  }
  if (head.size() > 9 && head[8] == '{' && head.substr(2, 6) == std::string_view("\0\0\0\0\0\0", 6)) {
    return "a safetensors file: name the folder that holds it and its config.json";
  }
  const size_t start = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const std::string_view text = start == std::string_view::npos ? std::string_view() : head.substr(start);
  if (text.starts_with("<")) return "an HTML page (an error or login page that was saved in place of the model?)";
  if (text.starts_with("{") || text.starts_with("[")) return "a JSON text";
  return std::nullopt;
}

}  // namespace prenorm
