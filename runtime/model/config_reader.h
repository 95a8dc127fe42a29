// Reads the sizes of a model from metadata: each value checked once, the first error kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "prenorm/status.h"
#include "runtime/loader/tensor_source.h"

namespace prenorm {

/// Looks keys up below a prefix ("llama." in GGUF). After the first error every getter returns its fallback or 0, and
/// status() tells what was wrong: a whole config reads as a list of lines.
class ConfigReader {
 public:
  ConfigReader(const TensorSource& source, std::string prefix) : source_(source), prefix_(std::move(prefix)) {}

  /// A size in [1, limit]. Without a fallback the key must be there.
  size_t Size(std::string_view key, size_t limit, std::optional<size_t> fallback = std::nullopt);
  /// A finite number >= 0, or > 0 where `positive`.
  float Number(std::string_view key, bool positive, std::optional<float> fallback = std::nullopt);
  std::string_view Text(std::string_view key, std::string_view fallback);
  bool Has(std::string_view key) const;

  /// Records an error of the caller's own, if it is the first.
  void Fail(StatusCode code, const std::string& message);
  const Status& status() const { return status_; }

 private:
  std::string Full(std::string_view key) const { return prefix_ + std::string(key); }
  void FailKey(std::string_view key, const std::string& expected, const std::string& found);

  const TensorSource& source_;
  std::string prefix_;
  Status status_;
};

}  // namespace prenorm
