// Opening GGUF files: the bytes of each part, the parser, the index.
#include "runtime/loader/gguf.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/loader/gguf_parse.h"

namespace prenorm {
namespace {

// "-00002-of-00003.gguf", with numbers from 1 as in file names.
std::string PartSuffix(uint64_t number, uint64_t count) {
  char text[64];
  std::snprintf(text, sizeof(text), "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(count));
  return text;
}

}  // namespace

// Appends one part. The first sets metadata and the number of parts, the others must agree with it.
Status GgufFile::AddPart(MappedFile bytes, const std::string& path) {
  Result<ParsedGguf> parsed = ParseGguf(bytes.bytes(), path);
  if (!parsed.ok()) return parsed.status();
  const auto number = static_cast<uint32_t>(files_.size());
  if (number == 0) {
    version_ = parsed->version;
    metadata_ = std::move(parsed->metadata);
    n_parts_ = std::max<uint64_t>(1, metadata_.U64("split.count").value_or(1));
  } else if (Status status = CheckPart(parsed->metadata, path, number); !status.ok()) {
    return status;
  }
  for (TensorInfo& tensor : parsed->tensors) tensor.file = number;
  if (number == 0) {
    tensors_ = std::move(parsed->tensors);
  } else {
    tensors_.insert(tensors_.end(), parsed->tensors.begin(), parsed->tensors.end());
  }
  files_.push_back(std::move(bytes));
  return Status();
}

Status GgufFile::CheckPart(const Metadata& metadata, const std::string& path, uint64_t number) const {
  const uint64_t found = metadata.U64("split.no").value_or(0);
  const uint64_t count = metadata.U64("split.count").value_or(1);
  if (found == number && count == n_parts_) return Status();
  return Status(StatusCode::kBadModel, "a part of the model is another one than its name says\n'" + path +
                                           "': expected part " + std::to_string(number + 1) + " of " +
                                           std::to_string(n_parts_) + ", found " + std::to_string(found + 1) + " of " +
                                           std::to_string(count));
}

Result<GgufFile> GgufFile::Open(const std::string& path, const Options& options) {
  Result<MappedFile> bytes = MappedFile::Open(path, options.access);
  if (!bytes.ok()) return bytes.status();
  GgufFile file(path);
  if (Status status = file.AddPart(std::move(*bytes), path); !status.ok()) return status;
  if (file.n_parts_ > 1) {
    const uint64_t count = file.n_parts_;
    const uint64_t number = file.metadata_.U64("split.no").value_or(0);
    const std::string suffix = PartSuffix(number + 1, count);
    if (!path.ends_with(suffix)) {
      return Status(StatusCode::kBadModel, "'" + path + "' is part " + std::to_string(number + 1) + " of " +
                                               std::to_string(count) + " of a model\nits name should end with " +
                                               suffix + ", so that the other parts can be found\nRename it.");
    }
    const std::string stem = path.substr(0, path.size() - suffix.size());
    if (number != 0) return Open(stem + PartSuffix(1, count), options);
    for (uint64_t part = 1; part < count; ++part) {
      const std::string part_path = stem + PartSuffix(part + 1, count);
      Result<MappedFile> more = MappedFile::Open(part_path, options.access);
      if (!more.ok()) return more.status();
      if (Status status = file.AddPart(std::move(*more), part_path); !status.ok()) return status;
    }
    const uint64_t expected = file.metadata_.U64("split.tensors.count").value_or(file.tensors_.size());
    if (expected != file.tensors_.size()) {
      return Status(StatusCode::kBadModel, "the parts of '" + path + "' do not make up the model\nexpected " +
                                               std::to_string(expected) + " tensors, found " +
                                               std::to_string(file.tensors_.size()));
    }
  }
  if (Status status = file.FinishTensors(); !status.ok()) return status;
  return file;
}

Result<GgufFile> GgufFile::FromMemory(std::span<const uint8_t> bytes, const std::string& name) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kMinAlignment != 0) {
    return Status(StatusCode::kInvalidArgument, "the memory of model '" + name +
                                                    "' is not aligned\nexpected an address that is a multiple of 8\n"
                                                    "Copy the file into memory of malloc or mmap.");
  }
  return FromMemory(MappedFile::Borrow(bytes), name);
}

Result<GgufFile> GgufFile::FromMemory(MappedFile bytes, const std::string& name) {
  GgufFile file(name);
  if (Status status = file.AddPart(std::move(bytes), name); !status.ok()) return status;
  if (file.n_parts_ > 1) {
    return Status(StatusCode::kUnsupported, "'" + name + "' is one part of " + std::to_string(file.n_parts_) +
                                                " of a model\nOpen split models by path.");
  }
  if (Status status = file.FinishTensors(); !status.ok()) return status;
  return file;
}

}  // namespace prenorm
