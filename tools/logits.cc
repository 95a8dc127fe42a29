// prenorm logits: the logits of every position, for anyone who compares with another runtime.
#include <algorithm>
#include <charconv>

#include "tools/commands.h"
#include "tools/common/errors.h"
#include "tools/common/interrupt.h"
#include "tools/common/npy.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {
namespace {

// Positions whose logits are held in memory at once.
constexpr size_t kBlock = 256;

// Ids separated by commas, white space or brackets, so that a Python list will do.
Result<std::vector<TokenId>> ParseIds(const std::string& text, const std::string& source) {
  constexpr const char* kSeparators = ", \t\r\n[]";
  std::vector<TokenId> ids;
  for (size_t at = text.find_first_not_of(kSeparators); at != std::string::npos;
       at = text.find_first_not_of(kSeparators, at)) {
    const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    TokenId id = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, id);
    if (error != std::errc() || stop != text.data() + end) {
      return Status(StatusCode::kInvalidArgument,
                    "A token id cannot be read.\n" + source + ": expected a whole number, found '" +
                        text.substr(at, std::min<size_t>(end - at, 40)) + "'\nGive ids such as 1,2,3.");
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

Result<std::vector<TokenId>> ReadIds(const Options& options) {
  if (options.tokens.empty() == options.tokens_file.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "The tokens are missing or given twice.\n--tokens, --tokens-file: expected one of them\n"
                  "For example: prenorm logits --tokens 1,2,3 --out x.npy");
  }
  if (!options.tokens.empty()) return ParseIds(options.tokens, "--tokens");
  Result<std::string> text = ReadFile(options.tokens_file);
  if (!text.ok()) return text.status();
  return ParseIds(*text, options.tokens_file);
}

Status WriteLogits(Session& session, std::span<const TokenId> ids, NpyWriter& file) {
  const size_t vocab_size = session.model().config().vocab_size;
  std::vector<float> logits(std::min(kBlock, ids.size()) * vocab_size);
  for (size_t at = 0; at < ids.size(); at += kBlock) {
    const std::span<const TokenId> block = ids.subspan(at, std::min(kBlock, ids.size() - at));
    if (Status status = session.Eval(block, logits.data()); !status.ok()) return status;
    if (Status status = file.Append(logits.data(), block.size() * vocab_size); !status.ok()) return status;
  }
  return file.Close();
}

}  // namespace

int RunLogits(const Options& options) {
  Result<std::vector<TokenId>> ids = ReadIds(options);
  if (!ids.ok()) return Fail(ids.status());
  if (ids->empty() || options.out.empty()) {
    const char* where =
        ids->empty() ? "--tokens: expected at least one id, found none" : "--out: expected a file name, found none";
    return Fail(Status(StatusCode::kInvalidArgument, std::string("Something is missing.\n") + where +
                                                         "\nFor example: prenorm logits --tokens 1,2,3 --out x.npy"));
  }
  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options, ids->size());
  if (!session.ok()) return Fail(session.status());
  if (ids->size() > (*session)->capacity()) {
    return Fail(Status(StatusCode::kContextFull,
                       "The tokens do not fit in the context.\ncontext: " + std::to_string((*session)->capacity()) +
                           " tokens, needed: " + std::to_string(ids->size()) + "\nRaise it with --context."));
  }
  Result<NpyWriter> file = NpyWriter::Create(options.out, ids->size(), opened->model->config().vocab_size);
  if (!file.ok()) return Fail(file.status());
  (*session)->set_cancel_flag(&InterruptFlag());
  if (Status status = WriteLogits(**session, *ids, *file); !status.ok()) return Fail(status);
  if (!options.quiet) {
    Note(options.out + ": " + std::to_string(ids->size()) + " x " + std::to_string(opened->model->config().vocab_size) +
         " f32");
  }
  return kExitOk;
}

}  // namespace prenorm::tools
