// Header of a GGUF file: magic, counts, metadata, tensor descriptions, and where the data starts.
#include "runtime/loader/gguf_parse.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/loader/byte_reader.h"
#include "runtime/loader/file_kind.h"
#include "runtime/loader/tensor_types.h"

namespace prenorm {
namespace {

std::string ReadableTypes() {
  constexpr uint32_t kIds = 64;  // More than the format has.
  std::string names;
  for (uint32_t id = 0; id < kIds; ++id) {
    const char* name = InfoOf(static_cast<DType>(id)).name;
    if (name != nullptr) names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

constexpr char kFetchAgain[] = "Download or convert the file again.";
constexpr uint64_t kMinEntryBytes = 8 + 4 + 1;       // empty key, type, one byte of value
constexpr uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;  // empty name, n_dims, type, offset

class Parser {
 public:
  Parser(std::span<const uint8_t> bytes, const std::string& path) : bytes_(bytes), path_(path), reader_(bytes) {}

  Result<ParsedGguf> Parse() {
    for (const auto step : {&Parser::ReadHeader, &Parser::ReadMetadata, &Parser::ReadTensors, &Parser::PlaceTensors}) {
      if (Status status = (this->*step)(); !status.ok()) return status;
    }
    return std::move(out_);
  }

 private:
  Status Damaged(const std::string& where) const {
    return Status(StatusCode::kBadModel, "'" + path_ + "' is damaged\n" + where + "\n" + kFetchAgain);
  }
  Status CutShort(const std::string& part) const {
    return Damaged("the file ends, after " + std::to_string(bytes_.size()) + " bytes, inside " + part);
  }
  static std::string Quoted(std::string_view name) {
    constexpr size_t kShown = 400;  // A hostile name may fill the file.
    std::string text(1, '\'');
    text.append(name.substr(0, kShown));
    return text += name.size() > kShown ? "...'" : "'";
  }

  Status ReadHeader() {
    const std::string_view magic(reinterpret_cast<const char*>(bytes_.data()), bytes_.size() < 4 ? 0 : 4);
    if (magic != "GGUF") {
      return Status(StatusCode::kBadModel, "'" + path_ + "' is no model file that Prenorm reads\nit is " +
                                               DescribeForeignFile(bytes_).value_or("no GGUF file"));
    }
    reader_.Skip(4);
    if (!reader_.Read(out_.version)) return CutShort("the header");
    if ((out_.version & 0xFFFFu) == 0 && out_.version != 0) {
      return Status(StatusCode::kUnsupported, "'" + path_ + "' is a GGUF file in big-endian byte order\n" +
                                                  "version field: expected 02 or 03 00 00 00, found the reverse\n" +
                                                  "Convert the model for little-endian byte order.");
    }
    if (out_.version != 2 && out_.version != 3) {
      return Status(StatusCode::kUnsupported, "'" + path_ + "' has GGUF version " + std::to_string(out_.version) +
                                                  "; supported are 2 and 3\nConvert the model again.");
    }
    if (!reader_.Read(n_tensors_) || !reader_.Read(n_entries_)) return CutShort("the header");
    const uint64_t rest = reader_.remaining();
    if (n_tensors_ > kMaxTensors || n_tensors_ > rest / kMinTensorBytes) {
      return Damaged("the header announces " + std::to_string(n_tensors_) + " tensors; the file has room for " +
                     std::to_string(std::min(kMaxTensors, rest / kMinTensorBytes)));
    }
    if (n_entries_ > kMaxMetadataKeys || n_entries_ > rest / kMinEntryBytes) {
      return Damaged("the header announces " + std::to_string(n_entries_) + " metadata keys; the file has room for " +
                     std::to_string(std::min(kMaxMetadataKeys, rest / kMinEntryBytes)));
    }
    return Status();
  }

  Status ReadMetadata() {
    for (uint64_t i = 0; i < n_entries_; ++i) {
      MetaEntry entry;
      const auto number = [&] { return std::to_string(i + 1) + " of " + std::to_string(n_entries_); };
      if (!reader_.ReadString(entry.key)) return CutShort("metadata key " + number());
      if (entry.key.size() > kMaxNameBytes) return Damaged("metadata key " + number() + " is too long");
      if (Status status = ReadValue(entry); !status.ok()) return status;
      if (Status status = out_.metadata.Add(entry); !status.ok()) return Damaged(status.message());
    }
    return Status();
  }

  Status ReadValue(MetaEntry& entry) {
    const auto cut_short = [&] { return CutShort("the value of the metadata key " + Quoted(entry.key)); };
    if (!reader_.Read(entry.type)) return cut_short();
    if (entry.type == MetaType::kArray) {
      entry.is_array = true;
      if (!reader_.Read(entry.type) || !reader_.Read(entry.count)) return cut_short();
      if (entry.type == MetaType::kArray) {
        return Status(StatusCode::kUnsupported,
                      "'" + path_ + "' holds an array of arrays\nmetadata key " + Quoted(entry.key));
      }
    }
    if (MetaTypeName(entry.type) == nullptr) {
      return Damaged("the metadata key " + Quoted(entry.key) + " has the unknown value type " +
                     std::to_string(static_cast<uint32_t>(entry.type)));
    }
    entry.data = reader_.here();
    if (entry.type == MetaType::kString) {
      std::string_view skipped;
      for (uint64_t i = 0; i < entry.count; ++i) {
        if (!reader_.ReadString(skipped)) return cut_short();
      }
      return Status();
    }
    const size_t item_bytes = MetaTypeBytes(entry.type);
    if (entry.count > reader_.remaining() / item_bytes) return cut_short();
    reader_.Skip(entry.count * item_bytes);
    return Status();
  }

  Status ReadTensors() {
    out_.tensors.resize(static_cast<size_t>(n_tensors_));  // Bounded by the size of the file, in ReadHeader.
    for (size_t i = 0; i < out_.tensors.size(); ++i) {
      TensorInfo& tensor = out_.tensors[i];
      const auto number = [&] { return std::to_string(i + 1) + " of " + std::to_string(n_tensors_); };
      if (!reader_.ReadString(tensor.name) || !reader_.Read(tensor.n_dims)) {
        return CutShort("the description of tensor " + number());
      }
      if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes) {
        return Damaged("tensor " + number() + " has a name of " + std::to_string(tensor.name.size()) + " bytes");
      }
      if (tensor.n_dims > kMaxTensorDims) {
        return Damaged("tensor " + Quoted(tensor.name) + " has " + std::to_string(tensor.n_dims) +
                       " dimensions; at most 4 are possible");
      }
      bool complete = true;
      for (uint32_t d = 0; d < tensor.n_dims; ++d) complete = complete && reader_.Read(tensor.dims[d]);
      if (!complete || !reader_.Read(tensor.dtype) || !reader_.Read(tensor.offset)) {
        return CutShort("the description of tensor " + Quoted(tensor.name));
      }
      if (Status status = SizeTensor(tensor); !status.ok()) return status;
    }
    return Status();
  }

  // Fills in `bytes` from type and shape, without a product that could wrap.
  Status SizeTensor(TensorInfo& tensor) const {
    const DTypeInfo type = InfoOf(tensor.dtype);
    if (type.name == nullptr) {
      return Status(StatusCode::kUnsupported,
                    "'" + path_ + "' uses a tensor type that Prenorm does not read\ntensor " + Quoted(tensor.name) +
                        ": " + ForeignTensorTypeName(static_cast<uint32_t>(tensor.dtype)) + "\nsupported: " +
                        ReadableTypes() + "\nUse the model in another quantization, e.g. Q4_K_M or Q8_0.");
    }
    uint64_t elements = 1;  // A zero counts as one here, so that the other dimensions are bounded all the same.
    bool empty = false;
    for (const uint64_t dim : tensor.dims) {
      empty = empty || dim == 0;
      if (dim > kMaxElements || (dim != 0 && elements > kMaxElements / dim)) {
        return Damaged("tensor " + Quoted(tensor.name) + " of shape " + ShapeText(tensor) + " is impossibly large");
      }
      elements *= dim == 0 ? 1 : dim;
    }
    if (tensor.dims[0] % type.block_elems != 0) {
      return Damaged("tensor " + Quoted(tensor.name) + ": rows of " + std::to_string(tensor.dims[0]) +
                     " elements cannot be of type " + type.name + ", which has blocks of " +
                     std::to_string(type.block_elems));
    }
    tensor.bytes = empty ? 0 : elements / type.block_elems * type.block_bytes;
    return Status();
  }

  // Turns offsets into places in the file and checks that each tensor lies in it.
  Status PlaceTensors() {
    uint64_t alignment = 32;  // The format's default.
    if (out_.metadata.Has("general.alignment")) {
      alignment = out_.metadata.U64("general.alignment").value_or(0);
      if (alignment < kMinAlignment || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
        return Damaged("general.alignment is " + std::to_string(alignment) + "; expected a power of two from " +
                       std::to_string(kMinAlignment) + " to " + std::to_string(kMaxAlignment));
      }
    }
    const uint64_t data_start = (reader_.position() + alignment - 1) / alignment * alignment;
    const uint64_t data_bytes = bytes_.size() < data_start ? 0 : bytes_.size() - data_start;
    for (TensorInfo& tensor : out_.tensors) {
      if (tensor.offset % alignment != 0) {
        return Damaged("tensor " + Quoted(tensor.name) + " starts at offset " + std::to_string(tensor.offset) +
                       ", which is no multiple of the alignment " + std::to_string(alignment));
      }
      if (tensor.bytes == 0) {
        tensor.offset = data_start;
        continue;
      }
      if (tensor.offset > data_bytes || tensor.bytes > data_bytes - tensor.offset) {
        return Damaged("tensor " + Quoted(tensor.name) + " needs " + std::to_string(tensor.bytes) +
                       " bytes at offset " + std::to_string(tensor.offset) + " of the data, of which the file has " +
                       std::to_string(data_bytes) + ": it was cut short, or the offset is wrong");
      }
      tensor.offset += data_start;
      tensor.data = bytes_.data() + tensor.offset;
    }
    return Status();
  }

  std::span<const uint8_t> bytes_;
  const std::string& path_;
  ByteReader reader_;
  uint64_t n_tensors_ = 0;
  uint64_t n_entries_ = 0;
  ParsedGguf out_;
};

}  // namespace

Result<ParsedGguf> ParseGguf(std::span<const uint8_t> bytes, const std::string& path) {
  return Parser(bytes, path).Parse();
}

}  // namespace prenorm
