// Layout: a u64 length, a JSON object of that many bytes that describes the tensors, then their data.
#include "runtime/loader/safetensors_header.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <simdjson.h>

#include "runtime/loader/byte_reader.h"
#include "runtime/loader/file_kind.h"

namespace prenorm {
namespace {

using simdjson::dom::element;

std::optional<DType> FloatType(std::string_view name) {
  if (name == "F32") return DType::kF32;
  if (name == "F16") return DType::kF16;
  if (name == "BF16") return DType::kBF16;
  return std::nullopt;
}

bool IsIntegerType(std::string_view name) {
  constexpr std::string_view kNames[] = {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

class HeaderReader {
 public:
  HeaderReader(std::span<const uint8_t> data, uint64_t data_start, const std::string& path, uint32_t file)
      : data_(data), data_start_(data_start), path_(path), file_(file) {}

  Status Damaged(const std::string& where) const {
    return Status(StatusCode::kBadModel,
                  "'" + path_ + "' is damaged\n" + where + "\nDownload or convert the file again.");
  }

  // One member of the header object. `tensor` is left without a name when it is an integer tensor.
  Status Read(std::string_view name, const element& value, TensorInfo& tensor) const {
    const std::string quoted = "tensor '" + std::string(name.substr(0, 400)) + "'";
    std::string_view type_name;
    simdjson::dom::array shape, offsets;
    if (name.empty() || name.size() > kMaxNameBytes || value["dtype"].get(type_name) != simdjson::SUCCESS ||
        value["shape"].get(shape) != simdjson::SUCCESS || value["data_offsets"].get(offsets) != simdjson::SUCCESS) {
      return Damaged(quoted + " is not described by dtype, shape and data_offsets");
    }
    if (IsIntegerType(type_name)) return Status();
    const std::optional<DType> type = FloatType(type_name);
    if (!type) {
      return Status(StatusCode::kUnsupported, "'" + path_ + "' uses an element type that Prenorm does not read\n" +
                                                  quoted + ": " + std::string(type_name.substr(0, 40)) +
                                                  "; supported are F32, F16 and BF16");
    }
    tensor.dtype = *type;
    tensor.file = file_;
    if (Status status = ReadShape(shape, quoted, tensor); !status.ok()) return status;

    uint64_t ends[2] = {0, 0};
    size_t n_ends = 0;
    for (const element end : offsets) {
      if (n_ends == 2 || end.get(ends[n_ends]) != simdjson::SUCCESS) return Damaged(quoted + " has no valid offsets");
      ++n_ends;
    }
    if (n_ends != 2 || ends[0] > ends[1]) return Damaged(quoted + " has no valid offsets");
    if (ends[1] - ends[0] != tensor.bytes) {
      return Damaged(quoted + " of type " + std::string(type_name) + " and shape " + ShapeText(tensor) + " needs " +
                     std::to_string(tensor.bytes) + " bytes; its offsets give it " + std::to_string(ends[1] - ends[0]));
    }
    if (ends[1] > data_.size()) {
      return Damaged(quoted + " ends at byte " + std::to_string(ends[1]) + " of the data, of which the file has " +
                     std::to_string(data_.size()) + ": it was cut short, or the offset is wrong");
    }
    tensor.offset = data_start_ + ends[0];
    if (tensor.bytes != 0) tensor.data = data_.data() + ends[0];
    if (reinterpret_cast<uintptr_t>(tensor.data) % InfoOf(*type).block_bytes != 0) {
      return Status(StatusCode::kUnsupported, "'" + path_ + "' does not align its data\n" + quoted +
                                                  " starts at byte " + std::to_string(tensor.offset) +
                                                  "\nSave the model again with a current version of safetensors.");
    }
    tensor.name = name;
    return Status();
  }

 private:
  // The slowest dimension comes first in the file, the fastest in TensorInfo.
  Status ReadShape(const simdjson::dom::array& shape, const std::string& quoted, TensorInfo& tensor) const {
    if (shape.size() > kMaxTensorDims) {
      return Damaged(quoted + " has " + std::to_string(shape.size()) + " dimensions; at most 4 are possible");
    }
    tensor.n_dims = static_cast<uint32_t>(shape.size());
    size_t place = tensor.n_dims;
    uint64_t elements = 1;
    bool empty = false;
    for (const element extent : shape) {
      uint64_t dim;
      if (extent.get(dim) != simdjson::SUCCESS) return Damaged(quoted + " has a shape that is no list of sizes");
      tensor.dims[--place] = dim;
      empty = empty || dim == 0;
      if (dim > kMaxElements || (dim != 0 && elements > kMaxElements / dim)) {
        return Damaged(quoted + " is impossibly large");
      }
      elements *= dim == 0 ? 1 : dim;
    }
    tensor.bytes = empty ? 0 : elements * InfoOf(tensor.dtype).block_bytes;
    return Status();
  }

  std::span<const uint8_t> data_;
  uint64_t data_start_;
  const std::string& path_;
  uint32_t file_;
};

}  // namespace

Status ParseSafetensors(std::span<const uint8_t> bytes, const std::string& path, uint32_t file,
                        std::deque<std::string>& names, std::vector<TensorInfo>& tensors,
                        std::vector<std::string>& skipped) {
  ByteReader reader(bytes);
  uint64_t header_bytes = 0;
  const bool complete = reader.Read(header_bytes);
  const size_t start = reader.position();
  const bool fits = complete && header_bytes != 0 && header_bytes <= kMaxSafetensorsHeader && reader.Skip(header_bytes);
  const HeaderReader header(fits ? bytes.subspan(reader.position()) : bytes, reader.position(), path, file);
  if (!complete || header_bytes > kMaxSafetensorsHeader) {
    if (const std::optional<std::string> kind = DescribeForeignFile(bytes)) {
      return Status(StatusCode::kBadModel,
                    "'" + path + "' is no safetensors file\nit is " + *kind + "\nDownload the file itself.");
    }
  }
  if (!fits) {
    return header.Damaged("its header should have " + std::to_string(header_bytes) + " bytes; expected 1 to " +
                          std::to_string(kMaxSafetensorsHeader) + ", within the file of " +
                          std::to_string(bytes.size()));
  }
  simdjson::dom::parser parser;
  simdjson::dom::object members;
  const auto* text = reinterpret_cast<const char*>(bytes.data() + start);
  const auto parsed = parser.parse(text, static_cast<size_t>(header_bytes)).get(members);
  if (parsed != simdjson::SUCCESS) {
    return header.Damaged(std::string("its header is no JSON object: ") + simdjson::error_message(parsed));
  }
  for (const auto& [name, value] : members) {
    if (name == "__metadata__") continue;
    TensorInfo tensor;
    if (Status status = header.Read(name, value, tensor); !status.ok()) return status;
    if (tensor.name.empty()) {
      skipped.emplace_back(name);
      continue;
    }
    tensor.name = names.emplace_back(name);  // The parser's copy ends with this function.
    tensors.push_back(tensor);
  }
  return Status();
}

}  // namespace prenorm
