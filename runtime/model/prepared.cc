// Layout, check and use of a file of prepared weights.
#include "runtime/model/prepared.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <system_error>

#include "prenorm/matmul.h"
#include "prenorm/model.h"
#include "prenorm/session.h"
#include "runtime/hash64.h"
#include "runtime/loader/open.h"
#include "runtime/model/fingerprint.h"
#include "runtime/model/interleave.h"
#include "runtime/model/prepared_file.h"
#include "runtime/parallel/team.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

constexpr size_t kElsewhere = static_cast<size_t>(-1);
constexpr uint64_t kAlignment = 64;
constexpr const char* kSuffix = ".prepared";

uint64_t RoundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

uint64_t BytesOf(const WeightMatrix& w) { return w.rows * RowBytes(w.type, w.cols); }

std::string Hex(uint64_t value) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15];
  return text;
}

// What the file is called, shortened so that the whole name fits any file system.
std::string StemOf(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  if (name.size() > 150) name.resize(150);
  return name;
}

// Of sizes and times of a model's files.
uint64_t StateOf(const TensorSource& source) {
  Hash64 state;
  for (const MappedFile& file : source.files()) {
    state.Add(file.bytes().size());
    state.Add(static_cast<uint64_t>(file.modified_ns()));
  }
  return state.value();
}

// What the names of all prepared files of a model begin with.
std::string PrefixOf(const TensorSource& source) { return StemOf(source.path()) + "-" + Hex(StateOf(source)) + "-"; }

Status Damaged(const std::string& path, const std::string& where) {
  return {StatusCode::kBadModel, "the prepared weights are damaged\n'" + path + "': " + where +
                                     "\nRemove the file; it is made again when it is needed."};
}

// Whole groups of rows in the layout of the target, then the rest as it is.
Status WriteMatrix(const WeightMatrix& w, PreparedWriter& writer) {
  const size_t group_bytes = RowGroup() * RowBytes(w.type, w.cols), bytes = BytesOf(w);
  const auto* from = static_cast<const uint8_t*>(w.data);
  size_t done = 0;
  if (CanInterleave(w.type)) {
    std::vector<uint8_t> rows(group_bytes), scratch(group_bytes);
    for (; bytes - done >= group_bytes; done += group_bytes) {
      std::memcpy(rows.data(), from + done, group_bytes);
      InterleaveRows(w.type, w.cols, rows.data(), 0, 1, scratch.data());
      if (Status status = writer.Append(rows); !status.ok()) return status;
    }
  }
  return writer.Append({from + done, bytes - done});
}

}  // namespace

PreparedWeights::PreparedWeights(ModelParts& parts) : parts_(parts), tables_(TensorsKeptAsStored(parts)) {
  std::map<const void*, size_t> known;
  for (const TensorInfo* table : tables_) known.emplace(table->data, kElsewhere);
  Hash64 key;
  parts.weights.ForEachMatrix([&](WeightMatrix& w) {
    if (w.rows == 0) {
      visits_.push_back(kElsewhere);
      return;
    }
    const auto [place, is_new] = known.emplace(w.data, placed_.size());
    visits_.push_back(place->second);
    if (!is_new) return;
    placed_.push_back({w, data_bytes_});
    data_bytes_ = RoundUp(data_bytes_ + BytesOf(w), kAlignment);
    for (const uint64_t part : {static_cast<uint64_t>(w.type), uint64_t{w.rows}, uint64_t{w.cols}}) key.Add(part);
  });
  data_begin_ = PreparedDataBegin(data_bytes_);
  fingerprint_ = ModelFingerprint(parts);
  key.Add(kPreparedVersion);
  key.Add(RowGroup());
  key.Add(fingerprint_);
  key.Add(StateOf(*parts.source));
  key_ = key.value();
  name_ = PrefixOf(*parts.source) + Hex(key_) + "-rows" + std::to_string(RowGroup()) + kSuffix;
}

void PreparedWeights::PointTo(const uint8_t* data) {
  size_t visit = 0;
  parts_.weights.ForEachMatrix([&](WeightMatrix& w) {
    const size_t index = visits_[visit++];
    if (index == kElsewhere) return;
    w.data = data == nullptr ? placed_[index].matrix.data : data + placed_[index].offset;
    w.interleaved = data != nullptr;
  });
}

Status PreparedWeights::Check(std::span<const uint8_t> file, const std::string& path,
                              const std::function<bool(float)>& progress) const {
  if (file.size() != file_bytes()) {
    return Damaged(path, "expected " + std::to_string(file_bytes()) + " bytes, found " + std::to_string(file.size()));
  }
  const PreparedHeader expected = MakePreparedHeader(RowGroup(), key_, data_bytes_, file.first(data_begin_));
  if (std::memcmp(file.data(), &expected, sizeof expected) != 0) {
    return Damaged(path, "its header is not that of this model, or its checksum differs");
  }
  const std::span<const uint8_t> data = file.subspan(data_begin_);
  const size_t pieces = PreparedPieces(data_bytes_);
  std::atomic<size_t> next{0}, wrong{pieces};
  std::atomic<bool> cancelled{false};
  const int threads = DefaultThreads().threads;
  Team team(CheckThreadsStart(threads - 1).ok() ? threads : 1);
  team.Run([&](Worker& worker) {
    for (size_t piece = next++; piece < pieces && !cancelled; piece = next++) {
      if (PreparedHash(data, piece) != StoredPreparedHash(file, piece)) wrong = piece;
      if (worker.thread() != 0 || !progress) continue;
      if (!progress(static_cast<float>(piece) / static_cast<float>(pieces))) cancelled = true;
    }
  });
  if (cancelled) return {StatusCode::kCancelled, "loading was cancelled"};
  if (wrong != pieces) return Damaged(path, "MiB " + std::to_string(wrong.load()) + " has another checksum");
  return {};
}

Status PreparedWeights::Use(const std::string& path, const std::function<bool(float)>& progress) {
  Result<MappedFile> file = MappedFile::Open(path, FileAccess::kMap);
  if (!file.ok()) return file.status();
  file->PreferLargePages();
  if (Status status = Check(file->bytes(), path, progress); !status.ok()) return status;
  // In small pages SmolLM2 in Q4_1 wrote 98.8 tokens a second on one thread of a virtual Sapphire Rapids, 187 on two; in
  // large ones 136 and 222. Gathering its 94 MB takes 0.23 s, once.
  file->CollectLargePages();
  PointTo(file->bytes().data() + data_begin_);
  // The same rows by way of the other layout: also finds a layout that changed without a new version.
  if (ModelFingerprint(parts_) != fingerprint_) {
    PointTo(nullptr);
    return Damaged(path, "its weights are not those of '" + parts_.source->path() + "'");
  }
  MarkInterleaved(tables_, parts_);
  parts_.made_weights.clear();  // They are in the file, too.
  parts_.prepared = std::move(*file);
  parts_.prepared_path = path;
  return {};
}

Result<bool> PreparedWeights::Make(const std::string& path, const std::function<bool(float)>& progress) const {
  Result<PreparedDraft> draft = PreparedDraft::Open(path, progress);
  if (!draft.ok()) return draft.status();
  if (draft->made_by_another()) return false;
  PreparedWriter writer(*draft, data_bytes_);
  if (Status status = writer.Begin(); !status.ok()) return status;
  for (const Placed& each : placed_) {
    if (progress && !progress(static_cast<float>(each.offset) / static_cast<float>(data_bytes_))) {
      return Status(StatusCode::kCancelled, "loading was cancelled");
    }
    if (Status status = writer.PadTo(each.offset); !status.ok()) return status;
    if (Status status = WriteMatrix(each.matrix, writer); !status.ok()) return status;
  }
  if (Status status = writer.PadTo(data_bytes_); !status.ok()) return status;
  if (Status status = writer.Finish(RowGroup(), key_); !status.ok()) return status;
  return true;
}

Status UsePreparedWeights(const std::string& folder, ModelParts& parts, const std::function<bool(float)>& progress) {
  PreparedWeights prepared(parts);
  const std::string path = folder + "/" + prepared.name();
  // Another process may remove the file, or make a damaged one again, between any two of these steps. What this one
  // wrote and finds damaged would be so again.
  constexpr int kTries = 3;
  bool wrote = false, warned = false;
  for (int i = 0; i < kTries; ++i) {
    const Status status = prepared.Use(path, progress);
    if (status.ok()) return status;
    std::error_code error;
    if (status.code() == StatusCode::kBadModel && !wrote) {
      const std::string& text = status.message();
      if (!warned) parts.warnings.push_back("prepared weights were made again: " + text.substr(0, text.rfind('\n')));
      warned = true;
      fs::remove(path, error);  // Who uses it keeps its pages.
    } else if (status.code() != StatusCode::kNotFound) {
      return status;
    }
    fs::create_directories(folder, error);
    if (error) {
      return {StatusCode::kIo, "cannot make the folder of the prepared weights\n'" + folder + "': " + error.message() +
                                   "\nName a folder that can be written."};
    }
    const Result<bool> made = prepared.Make(path, progress);
    if (!made.ok()) return made.status();
    wrote = *made;
  }
  return prepared.Use(path, progress);
}

Result<std::vector<std::string>> PreparedFilesOf(const std::string& path, const std::string& folder) try {
  const Result<std::unique_ptr<TensorSource>> source = OpenModelFile(path, FileAccess::kMap);
  if (!source.ok()) return source.status();
  const std::string prefix = PrefixOf(**source);
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(kSuffix)) found.push_back(at->path().string());
  }
  return found;
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "there is not enough memory to read the model");
}

}  // namespace prenorm
