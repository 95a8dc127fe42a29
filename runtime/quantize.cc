// Reads a model file row by row and writes it again in other storage types.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"
#include "prenorm/session.h"
#include "runtime/hf_to_gguf.h"
#include "runtime/loader/gguf_writer.h"
#include "runtime/loader/open.h"
#include "runtime/parallel/buffer.h"
#include "runtime/parallel/team.h"
#include "runtime/quantize_recipe.h"

namespace prenorm {
namespace {

std::string RecipeNames() {
  std::string text;
  for (const std::string& name : QuantizeRecipes()) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

bool IsPlain(DType type) { return InfoOf(type).block_elems == 1; }

// "81 matrices became Q5_0 instead of Q4_K: their rows are no multiple of 256".
std::vector<std::string> StandInNotes(const std::map<std::pair<DType, DType>, size_t>& stand_ins) {
  std::vector<std::string> notes;
  notes.reserve(stand_ins.size());
  for (const auto& [types, count] : stand_ins) {
    notes.push_back(std::to_string(count) + (count == 1 ? " matrix became " : " matrices became ") +
                    InfoOf(types.second).name + " instead of " + InfoOf(types.first).name +
                    ": the rows are no multiple of " + std::to_string(InfoOf(types.first).block_elems));
  }
  return notes;
}

// Elements that are encoded between two looks at the progress callback: some tens of milliseconds.
constexpr size_t kSlabElements = size_t{1} << 21;

// One tensor in another type, in slabs of rows that all threads share. False from `progress`, which gets the bytes of
// the old tensor done, ends it.
Status WriteConverted(const TensorRows& rows, DType type, Team& team, const std::function<bool(uint64_t)>& progress,
                      GgufFileWriter& writer) {
  const Status cancelled(StatusCode::kCancelled, "quantization was cancelled");
  const TensorInfo& tensor = rows.info;
  const size_t cols = tensor.cols();
  const size_t row_bytes = RowBytes(type, cols);
  std::span<const uint8_t> bytes{tensor.data, static_cast<size_t>(tensor.bytes)};
  Result<Buffer> encoded = Buffer();
  if (type != tensor.dtype || !rows.is_plain()) {
    encoded = Buffer::Allocate(row_bytes * tensor.rows(), "a quantized tensor");
    const Result<Buffer> f32_rows =
        Buffer::Allocate(static_cast<size_t>(team.threads()) * cols * sizeof(float), "rows to quantize");
    if (!encoded.ok()) return encoded.status();
    if (!f32_rows.ok()) return f32_rows.status();
    uint8_t* blocks = encoded->as<uint8_t>();
    const size_t slab = std::max<size_t>(1, kSlabElements / std::max<size_t>(1, cols));
    for (size_t begin = 0; begin < tensor.rows(); begin += slab) {
      const size_t count = std::min(slab, tensor.rows() - begin);
      team.Run([&](Worker& worker) {
        const Range mine = worker.Share(count);
        float* row = f32_rows->as<float>() + static_cast<size_t>(worker.thread()) * cols;
        for (size_t r = begin + mine.begin; r < begin + mine.end; ++r) {
          DequantizeRow(tensor.dtype, rows.Row(r), cols, row);
          QuantizeRow(type, row, cols, blocks + r * row_bytes);
        }
      });
      if (!progress((begin + count) * tensor.row_bytes())) return cancelled;
    }
    bytes = {blocks, row_bytes * tensor.rows()};
  }
  if (Status status = writer.WriteTensor(bytes); !status.ok()) return status;
  return progress(tensor.bytes) ? Status() : cancelled;
}

Result<GgufContent> ReadContent(const std::string& from) {
  Result<std::unique_ptr<TensorSource>> opened = OpenModelFile(from, FileAccess::kMap);
  if (!opened.ok()) return opened.status();
  if ((*opened)->format() == ModelFormat::kHuggingFace) return ConvertFolder(std::move(opened).value());
  GgufContent content;
  content.source = std::move(opened).value();
  const std::span<const MetaEntry> entries = content.source->metadata().entries();
  content.entries.assign(entries.begin(), entries.end());
  for (const TensorInfo& tensor : content.source->tensors()) content.tensors.push_back({tensor, {tensor.data}, 0});
  return content;
}

}  // namespace

Result<QuantizeReport> QuantizeFile(const std::string& from, const std::string& to, const QuantizeOptions& options) {
  const QuantizeRecipe* recipe = FindQuantizeRecipe(options.recipe);
  if (recipe == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  "there is no recipe '" + options.recipe + "'\nrecipes: " + RecipeNames());
  }
  const Result<GgufContent> content = ReadContent(from);
  if (!content.ok()) return content.status();
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) {
    return Status(StatusCode::kInvalidArgument, "'" + to + "' is the model that is read\nName another file to write.");
  }

  Metadata meta;
  for (const MetaEntry& entry : content->entries) {
    if (Status status = meta.Add(entry); !status.ok()) return status;
  }
  const std::string architecture(meta.String("general.architecture").value_or(""));
  const auto n_layers = static_cast<size_t>(meta.U64(architecture + ".block_count").value_or(0));
  const std::vector<TensorRows>& tensors = content->tensors;
  const bool tied = std::none_of(tensors.begin(), tensors.end(),
                                 [](const TensorRows& rows) { return rows.info.name == "output.weight"; });
  std::vector<DType> types;
  std::map<std::pair<DType, DType>, size_t> stand_ins;
  QuantizeReport report;
  uint64_t elements = 0;
  for (const TensorRows& rows : tensors) {
    const TensorInfo& tensor = rows.info;
    const TypeChoice choice = ChooseType(*recipe, tensor, n_layers, tied);
    if (choice.type != tensor.dtype && !IsPlain(tensor.dtype)) {
      return Status(StatusCode::kUnsupported, "'" + from + "' is quantized already\ntensor '" +
                                                  std::string(tensor.name) + "': expected F32, F16 or BF16, found " +
                                                  InfoOf(tensor.dtype).name + "\nStart from the model as published.");
    }
    if (choice.type != choice.wanted) ++stand_ins[{choice.wanted, choice.type}];
    types.push_back(choice.type);
    elements += tensor.elements();
    report.bytes_before += tensor.bytes;
    report.bytes_after += RowBytes(choice.type, tensor.cols()) * tensor.rows();
  }
  report.notes = content->notes;
  for (std::string& note : StandInNotes(stand_ins)) report.notes.push_back(std::move(note));
  report.bits_per_weight =
      elements == 0 ? 0 : 8.0 * static_cast<double>(report.bytes_after) / static_cast<double>(elements);
  report.threads = options.threads > 0 ? options.threads : DefaultThreads().threads;

  if (Status status = CheckThreadsStart(report.threads - 1); !status.ok()) return status;
  Result<GgufFileWriter> writer = GgufFileWriter::Create(to);
  if (!writer.ok()) return writer.status();
  for (const MetaEntry& entry : content->entries) {
    const bool replaced = entry.key == "general.file_type" || entry.key == "general.quantization_version" ||
                          entry.key == "general.alignment" || entry.key.starts_with("split.");
    if (!replaced) writer->AddEntry(entry);
  }
  writer->AddU32("general.file_type", recipe->file_type);
  writer->AddU32("general.quantization_version", 2);
  for (size_t i = 0; i < types.size(); ++i) writer->AddTensor(tensors[i].info, types[i]);
  Team team(report.threads);
  uint64_t done = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = tensors[i].info;
    const auto progress = [&](uint64_t of_tensor) {
      const double all = static_cast<double>(std::max<uint64_t>(1, report.bytes_before));
      return !options.progress || options.progress(static_cast<float>(static_cast<double>(done + of_tensor) / all));
    };
    if (Status status = WriteConverted(tensors[i], types[i], team, progress, *writer); !status.ok()) return status;
    done += tensor.bytes;
  }
  if (Status status = content->source->CheckUnchanged(); !status.ok()) return status;
  if (Status status = writer->Finish(); !status.ok()) return status;
  return report;
}

}  // namespace prenorm
