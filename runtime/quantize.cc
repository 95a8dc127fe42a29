// Reads a model file row by row and writes it again in other storage types.
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "prenorm/dequantize.h"
#include "prenorm/quantize.h"
#include "runtime/loader/gguf_writer.h"
#include "runtime/loader/open.h"
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
  for (const auto& [types, count] : stand_ins) {
    notes.push_back(std::to_string(count) + (count == 1 ? " matrix became " : " matrices became ") +
                    InfoOf(types.second).name + " instead of " + InfoOf(types.first).name +
                    ": the rows are no multiple of " + std::to_string(InfoOf(types.first).block_elems));
  }
  return notes;
}

Status WriteConverted(const TensorInfo& tensor, DType type, GgufFileWriter& writer) {
  if (type == tensor.dtype) return writer.WriteTensor({tensor.data, static_cast<size_t>(tensor.bytes)});
  const size_t cols = tensor.cols();
  const size_t row_bytes = RowBytes(type, cols);
  std::vector<float> row(cols);
  std::vector<uint8_t> encoded(row_bytes * tensor.rows());
  for (size_t r = 0; r < tensor.rows(); ++r) {
    DequantizeRow(tensor.dtype, tensor.data + r * tensor.row_bytes(), cols, row.data());
    QuantizeRow(type, row.data(), cols, encoded.data() + r * row_bytes);
  }
  return writer.WriteTensor(encoded);
}

}  // namespace

Result<QuantizeReport> QuantizeFile(const std::string& from, const std::string& to, const QuantizeOptions& options) {
  const QuantizeRecipe* recipe = FindQuantizeRecipe(options.recipe);
  if (recipe == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  "there is no recipe '" + options.recipe + "'\nrecipes: " + RecipeNames());
  }
  Result<std::unique_ptr<TensorSource>> opened = OpenModelFile(from, FileAccess::kMap);
  if (!opened.ok()) return opened.status();
  const TensorSource& source = **opened;
  if (source.format() != ModelFormat::kGguf) {
    return Status(StatusCode::kUnsupported, "'" + from + "' is a folder; only GGUF files are quantized");
  }
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) {
    return Status(StatusCode::kInvalidArgument, "'" + to + "' is the model that is read\nName another file to write.");
  }

  const Metadata& meta = source.metadata();
  const std::string architecture(meta.String("general.architecture").value_or(""));
  const auto n_layers = static_cast<size_t>(meta.U64(architecture + ".block_count").value_or(0));
  const bool tied = source.Find("output.weight") == nullptr;
  std::vector<DType> types;
  std::map<std::pair<DType, DType>, size_t> stand_ins;
  QuantizeReport report;
  for (const TensorInfo& tensor : source.tensors()) {
    const TypeChoice choice = ChooseType(*recipe, tensor, n_layers, tied);
    if (choice.type != tensor.dtype && !IsPlain(tensor.dtype)) {
      return Status(StatusCode::kUnsupported, "'" + from + "' is quantized already\ntensor '" +
                                                  std::string(tensor.name) + "': expected F32, F16 or BF16, found " +
                                                  InfoOf(tensor.dtype).name + "\nStart from the model as published.");
    }
    if (choice.type != choice.wanted) ++stand_ins[{choice.wanted, choice.type}];
    types.push_back(choice.type);
    report.bytes_before += tensor.bytes;
    report.bytes_after += RowBytes(choice.type, tensor.cols()) * tensor.rows();
  }
  report.notes = StandInNotes(stand_ins);

  Result<GgufFileWriter> writer = GgufFileWriter::Create(to);
  if (!writer.ok()) return writer.status();
  for (const MetaEntry& entry : meta.entries()) {
    const bool replaced = entry.key == "general.file_type" || entry.key == "general.quantization_version" ||
                          entry.key == "general.alignment" || entry.key.starts_with("split.");
    if (!replaced) writer->AddEntry(entry);
  }
  writer->AddU32("general.file_type", recipe->file_type);
  writer->AddU32("general.quantization_version", 2);
  for (size_t i = 0; i < types.size(); ++i) writer->AddTensor(source.tensors()[i], types[i]);
  uint64_t done = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = source.tensors()[i];
    if (Status status = WriteConverted(tensor, types[i], *writer); !status.ok()) return status;
    done += tensor.bytes;
    const float share =
        static_cast<float>(done) / static_cast<float>(report.bytes_before == 0 ? 1 : report.bytes_before);
    if (options.progress && !options.progress(share))
      return Status(StatusCode::kCancelled, "quantization was cancelled");
  }
  if (Status status = writer->Finish(); !status.ok()) return status;
  return report;
}

}  // namespace prenorm
