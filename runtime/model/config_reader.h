// Reads the sizes of a model from metadata: each value checked once, the first error kept. Keys are those of GGUF
// files, without the architecture; in the config.json of a Hugging Face folder its own names are looked for instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// After the first error every getter returns its fallback or 0, and status() tells what was wrong: a whole config
/// reads as a list of lines.
class ConfigReader {
 public:
  ConfigReader(const TensorSource& source, std::string_view architecture);

  /// A size in [1, limit]. Without a fallback the key must be there.
  size_t Size(std::string_view key, size_t limit, std::optional<size_t> fallback = std::nullopt);
  /// A count up to `limit`, 0 where the key is absent.
  size_t Count(std::string_view key, size_t limit);
  /// A finite number >= 0, or > 0 where `positive`.
  float Number(std::string_view key, bool positive, std::optional<float> fallback = std::nullopt);
  std::string_view Text(std::string_view key, std::string_view fallback);
  bool Flag(std::string_view key, bool fallback);
  bool Has(std::string_view key) const;
  bool IsList(std::string_view key) const;
  /// Items of an array of texts, of whole numbers or flags, or of any numbers; empty if there is none.
  std::vector<std::string_view> Texts(std::string_view key);
  std::vector<uint64_t> Numbers(std::string_view key);
  std::vector<float> Floats(std::string_view key);
  bool is_hf() const { return source_.format() == ModelFormat::kHuggingFace; }

  /// Records an error of the caller's own, if it is the first.
  void Fail(StatusCode code, const std::string& message);
  const Status& status() const { return status_; }

 private:
  std::string Full(std::string_view key) const;
  template <typename T, typename Get>
  std::vector<T> List(std::string_view key, const char* expected, const Get& get);
  void FailKey(std::string_view key, const std::string& expected, const std::string& found);

  const TensorSource& source_;
  std::string prefix_;
  Status status_;
};

}  // namespace prenorm
