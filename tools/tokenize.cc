// prenorm tokenize: the ids and pieces of a text.
#include "tools/commands.h"
#include "prenorm/tokenizer.h"
#include "tools/common/answer.h"
#include "tools/fetch/catalog.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/measure.h"
#include "tools/common/prompt.h"
#include "tools/common/terminal.h"

namespace prenorm::tools {

int RunTokenize(const Options& options) {
  Result<std::optional<std::string>> text = ReadPrompt(options);
  if (!text.ok()) return Fail(text.status());
  if (!text->has_value()) {
    return Fail(MissingText(options, "text", "--prompt, --file or piped input", "prenorm tokenize -p",
                            "prenorm tokenize -p \"Hello world\""));
  }
  const Result<std::string> path = FindModelFile(options.model);
  if (!path.ok()) return FailModel(path.status());
  const Result<std::unique_ptr<Tokenizer>> loaded = Tokenizer::Load(*path);  // Any model's: nothing of it has to run.
  if (!loaded.ok()) return FailModel(loaded.status());
  const Tokenizer& tokenizer = **loaded;
  for (const std::string& warning : tokenizer.warnings()) Note("prenorm: note: " + warning);
  const uint64_t begin = NowNs();
  Result<std::vector<TokenId>> ids =
      tokenizer.Encode(**text, {.add_special = options.add_special, .parse_special = options.special});
  if (!ids.ok()) return Fail(ids.status());
  const uint64_t encode_ns = NowNs() - begin;

  std::vector<std::string> pieces;
  for (TokenId id : *ids) pieces.push_back(tokenizer.Piece(id, true));
  if (options.json) {
    nlohmann::ordered_json json = NewJson(1);
    json["ids"] = *ids;
    json["pieces"] = pieces;
    json["timings"] = {{"encode_ns", encode_ns}};
    return PrintAnswer(JsonLine(json));
  }
  std::string lines;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (options.ids) {
      lines += (i == 0 ? "" : ",") + std::to_string((*ids)[i]);
    } else {
      lines += std::to_string((*ids)[i]) + "\t" + JsonLine(pieces[i]);  // Quoted, so that white space shows.
    }
  }
  return PrintAnswer(options.ids ? lines + "\n" : lines);
}

}  // namespace prenorm::tools
