// Builds small GGUF files in memory, well-formed by default and broken on request.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "prenorm/types.h"

namespace prenorm {

/// Little-endian bytes, appended.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& Put(T value) {
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(value));
    return *this;
  }
  ByteWriter& Text(std::string_view text) {
    Put<uint64_t>(text.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
    return *this;
  }
  ByteWriter& Bytes(const std::vector<uint8_t>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
  void PadTo(size_t alignment) {
    while (bytes.size() % alignment != 0) bytes.push_back(0);
  }
  std::vector<uint8_t> bytes;
};

/// Collects keys and tensors; Build() lays them out as the specification says.
class GgufWriter {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;  // Used for the layout; the key is written only by U32("general.alignment", ...).

  template <typename T>
  GgufWriter& Number(std::string_view key, uint32_t type_id, T value) {
    entries_.Text(key).Put<uint32_t>(type_id).Put(value);
    ++n_entries_;
    return *this;
  }
  GgufWriter& U32(std::string_view key, uint32_t value) { return Number(key, 4, value); }
  GgufWriter& F32(std::string_view key, float value) { return Number(key, 6, value); }
  GgufWriter& Bool(std::string_view key, bool value) { return Number<uint8_t>(key, 7, value ? 1 : 0); }
  GgufWriter& String(std::string_view key, std::string_view value) {
    entries_.Text(key).Put<uint32_t>(8).Text(value);
    ++n_entries_;
    return *this;
  }
  GgufWriter& Strings(std::string_view key, const std::vector<std::string>& values) {
    entries_.Text(key).Put<uint32_t>(9).Put<uint32_t>(8).Put<uint64_t>(values.size());
    for (const std::string& value : values) entries_.Text(value);
    ++n_entries_;
    return *this;
  }
  template <typename T>
  GgufWriter& Numbers(std::string_view key, uint32_t type_id, const std::vector<T>& values) {
    entries_.Text(key).Put<uint32_t>(9).Put<uint32_t>(type_id).Put<uint64_t>(values.size());
    for (const T& value : values) entries_.Put(value);
    ++n_entries_;
    return *this;
  }

  /// A tensor with its data placed after those before it. `dims` in file order.
  GgufWriter& Tensor(std::string_view name, DType type, std::initializer_list<uint64_t> dims,
                     const std::vector<uint8_t>& data) {
    RawTensor(name, static_cast<uint32_t>(dims.size()), dims, static_cast<uint32_t>(type), data_.bytes.size());
    data_.Bytes(data);
    data_.PadTo(alignment);
    return *this;
  }
  GgufWriter& TensorF32(std::string_view name, std::initializer_list<uint64_t> dims, const std::vector<float>& values) {
    return RawF32(name, dims, values);
  }
  GgufWriter& RawF32(std::string_view name, const std::vector<uint64_t>& dims, const std::vector<float>& values) {
    RawTensor(name, static_cast<uint32_t>(dims.size()), dims, static_cast<uint32_t>(DType::kF32), data_.bytes.size());
    std::vector<uint8_t> data(values.size() * sizeof(float));
    if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
    data_.Bytes(data);
    data_.PadTo(alignment);
    return *this;
  }

  /// A description without data: any count of dimensions, type id and offset.
  GgufWriter& RawTensor(std::string_view name, uint32_t n_dims, const std::vector<uint64_t>& dims, uint32_t type_id,
                        uint64_t offset) {
    tensors_.Text(name).Put(n_dims);
    for (const uint64_t dim : dims) tensors_.Put(dim);
    tensors_.Put(type_id).Put(offset);
    ++n_tensors_;
    return *this;
  }

  std::vector<uint8_t> Build() const {
    ByteWriter out;
    out.Bytes({'G', 'G', 'U', 'F'}).Put(version).Put(n_tensors_).Put(n_entries_);
    out.Bytes(entries_.bytes).Bytes(tensors_.bytes);
    out.PadTo(alignment);
    return out.Bytes(data_.bytes).bytes;
  }

 private:
  ByteWriter entries_, tensors_, data_;
  uint64_t n_entries_ = 0;
  uint64_t n_tensors_ = 0;
};

}  // namespace prenorm
