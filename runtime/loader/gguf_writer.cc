// Layout: header, keys, tensor descriptions, padding, then each tensor padded to the alignment.
#include "runtime/loader/gguf_writer.h"

#include <utility>

namespace prenorm {
namespace {

constexpr uint64_t kAlignment = 32;  // The format's default, so no key needs to say it.

uint64_t Padded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

template <typename T>
void Put(T value, std::vector<uint8_t>& to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(value));
}

void PutText(std::string_view text, std::vector<uint8_t>& to) {
  Put<uint64_t>(text.size(), to);
  to.insert(to.end(), text.begin(), text.end());
}

}  // namespace

Result<GgufFileWriter> GgufFileWriter::Create(const std::string& path) {
  Result<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  return GgufFileWriter(std::move(file).value());
}

void GgufFileWriter::AddEntry(const MetaEntry& entry) {
  PutText(entry.key, entries_);
  if (entry.is_array) Put(MetaType::kArray, entries_);
  Put(entry.type, entries_);
  if (entry.is_array) Put(entry.count, entries_);
  if (entry.type == MetaType::kString) {
    for (const std::string_view text : StringArray(entry.data, entry.count)) PutText(text, entries_);
  } else {
    entries_.insert(entries_.end(), entry.data, entry.data + entry.count * MetaTypeBytes(entry.type));
  }
  ++n_entries_;
}

void GgufFileWriter::AddU32(std::string_view key, uint32_t value) {
  PutText(key, entries_);
  Put(MetaType::kU32, entries_);
  Put(value, entries_);
  ++n_entries_;
}

void GgufFileWriter::AddTensor(const TensorInfo& tensor, DType dtype) {
  PutText(tensor.name, tensors_);
  Put(tensor.n_dims, tensors_);
  for (uint32_t i = 0; i < tensor.n_dims; ++i) Put(tensor.dims[i], tensors_);
  Put(dtype, tensors_);
  Put(data_bytes_, tensors_);
  data_bytes_ += Padded(RowBytes(dtype, tensor.cols()) * tensor.rows());
  ++n_tensors_;
}

Status GgufFileWriter::Write(std::span<const uint8_t> bytes) {
  written_ += bytes.size();
  return file_.Write(bytes.data(), bytes.size());
}

Status GgufFileWriter::WritePadding() {
  constexpr uint8_t kZeros[kAlignment] = {};
  return Write(std::span(kZeros).first(static_cast<size_t>(Padded(written_) - written_)));
}

Status GgufFileWriter::WriteHeader() {
  std::vector<uint8_t> head = {'G', 'G', 'U', 'F'};
  Put<uint32_t>(3, head);
  Put(n_tensors_, head);
  Put(n_entries_, head);
  has_header_ = true;
  for (const std::vector<uint8_t>* part : {&head, &entries_, &tensors_}) {
    if (Status status = Write(*part); !status.ok()) return status;
  }
  return WritePadding();
}

Status GgufFileWriter::WriteTensor(std::span<const uint8_t> bytes) {
  if (!has_header_) {
    if (Status status = WriteHeader(); !status.ok()) return status;
  }
  if (Status status = Write(bytes); !status.ok()) return status;
  return WritePadding();
}

Status GgufFileWriter::Finish() {
  if (!has_header_) {
    if (Status status = WriteHeader(); !status.ok()) return status;
  }
  return file_.Commit();
}

}  // namespace prenorm
