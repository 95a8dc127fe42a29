// prenorm embed: texts to vectors, by an encoder or by a decoder.
#include <chrono>
#include <cstdio>

#include "prenorm/encoder.h"
#include "prenorm/model.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/npy.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Lines end with "\n" or "\r\n"; the last one need not.
std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

Result<std::vector<std::string>> ReadTexts(const Options& options) {
  if (options.file && !options.texts.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "The texts are given twice.\n--file " + *options.file + " and arguments\nGive one of them.");
  }
  if (!options.texts.empty()) return options.texts;
  Options of_lines = options;
  of_lines.prompt.reset();
  Result<std::optional<std::string>> text = ReadPrompt(of_lines);
  if (!text.ok()) return text.status();
  std::vector<std::string> lines = LinesOf(text->value_or(""));
  if (lines.empty()) {
    return MissingText(options, "text", "arguments, --file or piped input", "prenorm embed all-minilm-l6-v2",
                       "prenorm embed MODEL \"first text\" \"second text\"");
  }
  return lines;
}

EncoderOptions OptionsOf(const Options& options) {
  EncoderOptions out;
  out.threads = static_cast<int>(options.threads);
  if (options.pooling == "mean") out.pooling = Pooling::kMean;
  if (options.pooling == "cls") out.pooling = Pooling::kCls;
  if (options.pooling == "last") out.pooling = Pooling::kLast;
  if (options.raw) out.normalize = false;
  out.max_tokens = static_cast<size_t>(options.max_tokens);
  out.truncate = options.truncate_texts;
  out.parse_special = options.special;
  out.batch_tokens = static_cast<size_t>(options.embed_chunk);
  return out;
}

Status CheckRanges(const Options& options) {
  if (Status status = CheckThreads(options.threads); !status.ok()) return status;
  if (options.max_tokens < 0) return OutOfRange("--max-tokens", options.max_tokens, "0 or more");
  if (options.embed_chunk < 1) return OutOfRange("--chunk", options.embed_chunk, "1 or more");
  return {};
}

std::string JsonOf(const Encoder& encoder, const std::vector<float>& rows) {
  nlohmann::ordered_json json = NewJson(encoder.threads());
  const ModelConfig& config = encoder.model().config();
  json["model"] = config.name.empty() ? config.architecture : config.name;
  json["dim"] = encoder.dim();
  json["pooling"] = PoolingName(encoder.pooling());
  json["normalized"] = encoder.normalizes();
  json["tokens"] = encoder.tokens();
  json["embeddings"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < rows.size(); i += encoder.dim()) {
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(i);
    json["embeddings"].push_back(std::vector<float>(at, at + static_cast<std::ptrdiff_t>(encoder.dim())));
  }
  return JsonLine(json);
}

// A line a text; nine digits give the same f32 again.
std::string LinesOf(const std::vector<float>& rows, size_t dim) {
  std::string out;
  char number[32];
  for (size_t i = 0; i < rows.size(); ++i) {
    std::snprintf(number, sizeof number, "%.9g", static_cast<double>(rows[i]));
    out.append(number).append((i + 1) % dim == 0 ? "\n" : " ");
  }
  return out;
}

Status WriteNpy(const std::string& path, const std::vector<float>& rows, size_t dim) {
  Result<NpyWriter> file = NpyWriter::Create(path, rows.size() / dim, dim);
  if (!file.ok()) return file.status();
  if (Status status = file->Append(rows.data(), rows.size()); !status.ok()) return status;
  return file->Close();
}

}  // namespace

int RunEmbed(const Options& options) {
  if (Status status = CheckRanges(options); !status.ok()) return Fail(status);
  const Result<std::vector<std::string>> texts = ReadTexts(options);
  if (!texts.ok()) return Fail(texts.status());
  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Encoder>> encoder = Encoder::Create(opened->model, OptionsOf(options));
  if (!encoder.ok()) return Fail(encoder.status());
  (*encoder)->set_cancel_flag(&InterruptFlag());
  const size_t dim = (*encoder)->dim();
  const std::vector<std::string_view> views(texts->begin(), texts->end());
  std::vector<float> rows(views.size() * dim);
  const auto begin = Clock::now();
  Status status = (*encoder)->Embed(views, rows.data());
  if (status.code() == StatusCode::kContextFull) {
    status = Status(status.code(), status.message().substr(0, status.message().rfind('\n')) +
                                       "\nShorten it, or leave out its end with --truncate.");
  }
  if (!status.ok()) return Fail(status);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!options.quiet) {
    char rate[96];
    std::snprintf(rate, sizeof rate, ": %.1f ms, %.0f texts/s, %.0f tokens/s", seconds * 1e3,
                  static_cast<double>(views.size()) / seconds, static_cast<double>((*encoder)->tokens()) / seconds);
    Note(Styled(Style::kDim, CountText(views.size(), "text") + ", " + CountText((*encoder)->tokens(), "token") + rate +
                                 " (" + PoolingName((*encoder)->pooling()) + " pooling" +
                                 ((*encoder)->normalizes() ? ", length 1)" : ")")));
  }
  if (!options.out.empty()) {
    status = WriteNpy(options.out, rows, dim);
    return status.ok() ? kExitOk : Fail(status);
  }
  return PrintAnswer(options.json ? JsonOf(**encoder, rows) : LinesOf(rows, dim));
}

}  // namespace prenorm::tools
