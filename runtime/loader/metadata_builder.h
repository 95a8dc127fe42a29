// Metadata made in memory, in GGUF's encoding.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loader/metadata.h"

namespace prenorm {

/// Owns keys and values; entries() point into it, also after a move.
class MetadataBuilder {
 public:
  void U32(std::string_view key, uint64_t value) { Scalar(key, MetaType::kU32, static_cast<uint32_t>(value)); }
  void F32(std::string_view key, float value) { Scalar(key, MetaType::kF32, value); }
  void Bool(std::string_view key, bool value) { Scalar(key, MetaType::kBool, static_cast<uint8_t>(value)); }
  void String(std::string_view key, std::string_view value) {
    Begin(key, MetaType::kString, /*is_array=*/false, 1);
    PutText(value);
    End();
  }
  void Strings(std::string_view key, std::span<const std::string> values) {
    Begin(key, MetaType::kString, /*is_array=*/true, values.size());
    for (const std::string& value : values) PutText(value);
    End();
  }
  void F32s(std::string_view key, std::span<const float> values) { Numbers(key, MetaType::kF32, values); }
  void I32s(std::string_view key, std::span<const int32_t> values) { Numbers(key, MetaType::kI32, values); }

  std::span<const MetaEntry> entries() const { return entries_; }

 private:
  template <typename T>
  void Scalar(std::string_view key, MetaType type, T value) {
    Begin(key, type, /*is_array=*/false, 1);
    Put(&value, sizeof(value));
    End();
  }
  template <typename T>
  void Numbers(std::string_view key, MetaType type, std::span<const T> values) {
    Begin(key, type, /*is_array=*/true, values.size());
    Put(values.data(), values.size_bytes());
    End();
  }
  void Begin(std::string_view key, MetaType type, bool is_array, uint64_t count) {
    keys_.emplace_back(key);
    data_.emplace_back();
    MetaEntry& entry = entries_.emplace_back();
    entry.key = keys_.back();
    entry.type = type;
    entry.is_array = is_array;
    entry.count = count;
  }
  void Put(const void* bytes, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(bytes);
    data_.back().insert(data_.back().end(), begin, begin + size);
  }
  void PutText(std::string_view text) {
    const uint64_t size = text.size();
    Put(&size, sizeof(size));
    Put(text.data(), text.size());
  }
  void End() { entries_.back().data = data_.back().data(); }

  std::deque<std::string> keys_;
  std::deque<std::vector<uint8_t>> data_;
  std::vector<MetaEntry> entries_;
};

}  // namespace prenorm
