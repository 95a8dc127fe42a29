// Checked conversion and lookup of metadata values.
#include "runtime/loader/metadata.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace prenorm {
namespace {

template <typename T>
T Load(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

// Any integer type as sign and magnitude; nothing for other types.
struct Integer {
  bool negative;
  uint64_t magnitude;
};

std::optional<Integer> LoadInteger(const uint8_t* data, MetaType type) {
  const auto from_signed = [](int64_t v) {
    return Integer{v < 0, v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v)};
  };
  switch (type) {
    case MetaType::kU8:
      return Integer{false, Load<uint8_t>(data)};
    case MetaType::kU16:
      return Integer{false, Load<uint16_t>(data)};
    case MetaType::kU32:
      return Integer{false, Load<uint32_t>(data)};
    case MetaType::kU64:
      return Integer{false, Load<uint64_t>(data)};
    case MetaType::kI8:
      return from_signed(Load<int8_t>(data));
    case MetaType::kI16:
      return from_signed(Load<int16_t>(data));
    case MetaType::kI32:
      return from_signed(Load<int32_t>(data));
    case MetaType::kI64:
      return from_signed(Load<int64_t>(data));
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> LoadU64(const uint8_t* data, MetaType type) {
  const std::optional<Integer> v = LoadInteger(data, type);
  if (!v || v->negative) return std::nullopt;
  return v->magnitude;
}

std::optional<int64_t> LoadI64(const uint8_t* data, MetaType type) {
  const std::optional<Integer> v = LoadInteger(data, type);
  if (!v) return std::nullopt;
  const uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (v->negative ? 1 : 0);
  if (v->magnitude > limit) return std::nullopt;
  return static_cast<int64_t>(v->negative ? uint64_t{0} - v->magnitude : v->magnitude);
}

std::optional<float> LoadF32(const uint8_t* data, MetaType type) {
  if (type == MetaType::kF32) return Load<float>(data);
  if (type == MetaType::kF64) {
    const double wide = Load<double>(data);
    if (std::isfinite(wide) && std::fabs(wide) > static_cast<double>(std::numeric_limits<float>::max())) {
      return std::nullopt;
    }
    return static_cast<float>(wide);
  }
  const std::optional<Integer> v = LoadInteger(data, type);
  if (!v) return std::nullopt;
  const float magnitude = static_cast<float>(v->magnitude);
  return v->negative ? -magnitude : magnitude;
}

}  // namespace

const char* MetaTypeName(MetaType type) {
  switch (type) {
    case MetaType::kU8:
      return "u8";
    case MetaType::kI8:
      return "i8";
    case MetaType::kU16:
      return "u16";
    case MetaType::kI16:
      return "i16";
    case MetaType::kU32:
      return "u32";
    case MetaType::kI32:
      return "i32";
    case MetaType::kF32:
      return "f32";
    case MetaType::kBool:
      return "bool";
    case MetaType::kString:
      return "string";
    case MetaType::kArray:
      return "array";
    case MetaType::kU64:
      return "u64";
    case MetaType::kI64:
      return "i64";
    case MetaType::kF64:
      return "f64";
  }
  return nullptr;
}

std::optional<uint64_t> NumberArray::U64(size_t i) const { return LoadU64(data_ + i * MetaTypeBytes(type_), type_); }
std::optional<int64_t> NumberArray::I64(size_t i) const { return LoadI64(data_ + i * MetaTypeBytes(type_), type_); }
std::optional<float> NumberArray::F32(size_t i) const { return LoadF32(data_ + i * MetaTypeBytes(type_), type_); }
std::optional<bool> NumberArray::Bool(size_t i) const {
  return type_ == MetaType::kBool ? std::optional(data_[i] != 0) : std::nullopt;
}

Status Metadata::Add(const MetaEntry& entry) {
  const auto less = [this](uint32_t i, std::string_view key) { return entries_[i].key < key; };
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), entry.key, less);
  if (place != sorted_.end() && entries_[*place].key == entry.key) {
    return Status(StatusCode::kBadModel, "a metadata key occurs twice\n'" + std::string(entry.key) +
                                             "'\nConvert the model again: one of the two is wrong.");
  }
  sorted_.insert(place, static_cast<uint32_t>(entries_.size()));
  entries_.push_back(entry);
  return Status();
}

const MetaEntry* Metadata::Find(std::string_view key) const {
  const auto less = [this](uint32_t i, std::string_view k) { return entries_[i].key < k; };
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), key, less);
  if (place == sorted_.end() || entries_[*place].key != key) return nullptr;
  return &entries_[*place];
}

const MetaEntry* Metadata::FindScalar(std::string_view key) const {
  const MetaEntry* entry = Find(key);
  return entry != nullptr && !entry->is_array ? entry : nullptr;
}

std::optional<std::string_view> Metadata::String(std::string_view key) const {
  const MetaEntry* entry = FindScalar(key);
  if (entry == nullptr || entry->type != MetaType::kString) return std::nullopt;
  return *StringArray(entry->data, 1).begin();
}

std::optional<uint64_t> Metadata::U64(std::string_view key) const {
  const MetaEntry* entry = FindScalar(key);
  return entry == nullptr ? std::nullopt : LoadU64(entry->data, entry->type);
}

std::optional<int64_t> Metadata::I64(std::string_view key) const {
  const MetaEntry* entry = FindScalar(key);
  return entry == nullptr ? std::nullopt : LoadI64(entry->data, entry->type);
}

std::optional<float> Metadata::F32(std::string_view key) const {
  const MetaEntry* entry = FindScalar(key);
  return entry == nullptr ? std::nullopt : LoadF32(entry->data, entry->type);
}

std::optional<bool> Metadata::Bool(std::string_view key) const {
  const MetaEntry* entry = FindScalar(key);
  if (entry == nullptr || entry->type != MetaType::kBool) return std::nullopt;
  return *entry->data != 0;
}

std::optional<StringArray> Metadata::Strings(std::string_view key) const {
  const MetaEntry* entry = Find(key);
  if (entry == nullptr || !entry->is_array || entry->type != MetaType::kString) return std::nullopt;
  return StringArray(entry->data, entry->count);
}

std::optional<NumberArray> Metadata::Numbers(std::string_view key) const {
  const MetaEntry* entry = Find(key);
  if (entry == nullptr || !entry->is_array || MetaTypeBytes(entry->type) == 0) return std::nullopt;
  return NumberArray(entry->data, entry->count, entry->type);
}

}  // namespace prenorm
