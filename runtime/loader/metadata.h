// Metadata of a model file: typed values by key, without copies. Values are kept in GGUF's encoding; the reader of
// Hugging Face folders writes its config.json in the same encoding, so that one class answers for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "prenorm/status.h"

namespace prenorm {

/// Type ids of GGUF metadata values.
enum class MetaType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// Bytes of one value of a fixed-size type; 0 for strings, arrays and unknown ids.
constexpr size_t MetaTypeBytes(MetaType type) {
  switch (type) {
    case MetaType::kU8:
    case MetaType::kI8:
    case MetaType::kBool:
      return 1;
    case MetaType::kU16:
    case MetaType::kI16:
      return 2;
    case MetaType::kU32:
    case MetaType::kI32:
    case MetaType::kF32:
      return 4;
    case MetaType::kU64:
    case MetaType::kI64:
    case MetaType::kF64:
      return 8;
    case MetaType::kString:
    case MetaType::kArray:
      return 0;
  }
  return 0;
}

/// "u32", "string", ...; null for unknown ids.
const char* MetaTypeName(MetaType type);

/// One key with its value. `data` points at the first item (a string's 8-byte length included), unaligned.
struct MetaEntry {
  std::string_view key;
  MetaType type = MetaType::kU8;  ///< Of the value, or of the items of an array.
  bool is_array = false;
  uint64_t count = 1;  ///< Items of an array, else 1.
  const uint8_t* data = nullptr;
};

/// Strings of an array in file order: forward iteration, each item a view into the file.
class StringArray {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using reference = std::string_view;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = void;
    Iterator() = default;
    Iterator(const uint8_t* data, uint64_t index) : data_(data), index_(index) {}
    std::string_view operator*() const {
      return {reinterpret_cast<const char*>(data_) + sizeof(uint64_t), static_cast<size_t>(Length())};
    }
    Iterator& operator++() {
      data_ += sizeof(uint64_t) + Length();
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    uint64_t Length() const {
      uint64_t length;
      std::memcpy(&length, data_, sizeof(length));
      return length;
    }
    const uint8_t* data_ = nullptr;
    uint64_t index_ = 0;
  };

  StringArray(const uint8_t* data, uint64_t count) : data_(data), count_(count) {}
  size_t size() const { return static_cast<size_t>(count_); }
  Iterator begin() const { return {data_, 0}; }
  Iterator end() const { return {nullptr, count_}; }

 private:
  const uint8_t* data_;
  uint64_t count_;
};

/// Numbers or bools of an array, any fixed-size type, random access. Conversions are checked as in Metadata.
class NumberArray {
 public:
  NumberArray(const uint8_t* data, uint64_t count, MetaType type) : data_(data), count_(count), type_(type) {}
  size_t size() const { return static_cast<size_t>(count_); }
  MetaType type() const { return type_; }
  /// The items as they are if they are of `type`, which T has the size of; unaligned. Else null.
  template <typename T>
  const uint8_t* RawAs(MetaType type) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return type == type_ && MetaTypeBytes(type) == sizeof(T) ? data_ : nullptr;
  }
  std::optional<uint64_t> U64(size_t i) const;
  std::optional<int64_t> I64(size_t i) const;
  std::optional<float> F32(size_t i) const;
  std::optional<bool> Bool(size_t i) const;

 private:
  const uint8_t* data_;
  uint64_t count_;
  MetaType type_;
};

/// Lookups return nothing when the key is absent or its value does not convert without loss of meaning:
/// integers of any width that fit the range asked for; floats from any number (f64 is rounded, but never to infinity);
/// bools from bools only. Thread-safe once built. Views are valid as long as the file that holds the bytes.
class Metadata {
 public:
  /// Refuses a key that is there already. `entry` must be well-formed: every length inside memory.
  Status Add(const MetaEntry& entry);

  std::span<const MetaEntry> entries() const { return entries_; }
  const MetaEntry* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  std::optional<std::string_view> String(std::string_view key) const;
  std::optional<uint64_t> U64(std::string_view key) const;
  std::optional<int64_t> I64(std::string_view key) const;
  std::optional<float> F32(std::string_view key) const;
  std::optional<bool> Bool(std::string_view key) const;
  std::optional<StringArray> Strings(std::string_view key) const;
  std::optional<NumberArray> Numbers(std::string_view key) const;

 private:
  const MetaEntry* FindScalar(std::string_view key) const;
  std::vector<MetaEntry> entries_;  // file order
  std::vector<uint32_t> sorted_;    // indices of entries_ by key
};

}  // namespace prenorm
