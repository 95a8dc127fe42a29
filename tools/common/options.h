// Every option of every command: one struct of values, one table that describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "prenorm/status.h"

namespace prenorm::tools {

/// One bit a command.
enum Command : uint32_t {
  kGenerate = 1u << 0,
  kChat = 1u << 1,
  kTokenize = 1u << 2,
  kLogits = 1u << 3,
  kInspect = 1u << 4,
  kBench = 1u << 5,
  kProfile = 1u << 6,
  kQuantize = 1u << 7,
  kPerplexity = 1u << 8,
  kVerify = 1u << 9,
  kManage = 1u << 10,  // prenorm models
  kDoctor = 1u << 11,
  kNorms = 1u << 12,
  kEmbed = 1u << 13,
  kLab = 1u << 14,
};

/// The values, with the built-in defaults.
struct Options {
  // Model and engine.
  std::string model;
  std::string target;
  int64_t threads = 0;
  int64_t context = 0;
  int64_t chunk = 512;
  std::string cache = "auto";
  std::string norm = "auto";
  bool deterministic = false;
  bool no_mmap = false;
  bool prepared = false;
  bool no_memory_check = false;
  std::string session;
  std::string speculate = "off";
  std::string draft;
  // Prompt.
  std::optional<std::string> prompt;
  std::optional<std::string> file;
  bool escape = false;
  bool special = false;
  std::optional<std::string> prefix;
  std::optional<std::string> suffix;
  std::optional<std::string> system;
  bool show_prompt = false;
  bool context_shift = false;
  std::string truncate = "never";
  std::string reasoning = "show";
  std::optional<std::string> template_args;
  std::optional<std::string> tools;
  std::optional<std::string> chat_template;
  bool add_special = false;
  // Length.
  int64_t max_new_tokens = -1;
  std::vector<std::string> stop;
  bool ignore_end_tokens = false;
  // Sampling.
  double temperature = 0.6;
  int64_t top_k = 0;
  double top_p = 0.9;
  double min_p = 0.0;
  double typical_p = 1.0;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  int64_t no_repeat_ngram_size = 0;
  std::vector<std::string> logit_bias;
  std::optional<uint64_t> seed;
  // Measuring.
  std::string tests = "pp512,tg128";
  int64_t runs = 5;
  int64_t probe_mb = 512;
  int64_t prefill = 512;
  int64_t decode = 64;
  // Profiling.
  std::string thread_list;
  std::string depths;
  bool unfuse = false;
  bool norms = false;
  std::vector<std::string> what_if;
  std::string svg;
  std::string html;
  std::string trace;
  std::vector<std::string> files;
  // Quantizing.
  std::string from;
  std::string to;
  std::string recipe = "Q4_K_M";
  // Norms.
  bool accuracy = false;
  bool bench_norms = false;
  std::string grid = "goals";
  std::vector<std::string> peers;
  int64_t rounds = 10;
  int64_t cols_max = 65537;
  std::string export_rows;
  // Lab.
  std::string experiment = "all";
  bool list = false;
  // Perplexity.
  int64_t window = 512;
  int64_t windows = -1;
  std::string save_logits;
  std::string kl;
  // Models.
  std::string action = "list";
  std::string sha256;
  // Verifying.
  int64_t verify_tokens = 32;
  double tolerance = 0.0;
  // Embedding.
  std::vector<std::string> texts;
  std::string pooling;
  bool raw = false;
  int64_t max_tokens = 0;
  int64_t embed_chunk = 1024;
  bool truncate_texts = false;
  // Logits.
  std::string tokens;
  std::string tokens_file;
  std::string out;
  // Output.
  bool json = false;
  bool jsonl = false;
  bool ids = false;
  std::string format = "md";
  bool quiet = false;
  std::string color = "auto";
  bool print_config = false;
  bool help = false;
};

/// Where the value of an option comes from, strongest first.
enum class Origin { kFlag, kEnvironment, kModel, kBuiltIn };
const char* OriginName(Origin origin);

using Field = std::variant<bool Options::*, int64_t Options::*, double Options::*, std::string Options::*,
                           std::optional<std::string> Options::*, std::optional<uint64_t> Options::*,
                           std::vector<std::string> Options::*>;

struct OptionSpec {
  const char* names;  ///< "-n,--max-new-tokens", or one word for a positional. The last long name is the option's name.
  const char* aliases;  ///< Further names that help does not list; "" for none. '_' for '-' is understood too.
  const char* value;    ///< Placeholder in help; "" for a switch.
  const char* help;
  const char* group;        ///< Heading in help.
  const char* environment;  ///< Variable that sets it, "" for none.
  uint32_t commands;        ///< Commands that have it.
  Field field;
  const char* choices = "";       ///< "a|b|c" where only these are valid.
  const char* default_text = "";  ///< The default in words where the value alone does not say it.
};

/// The table, in the order of help.
std::span<const OptionSpec> OptionTable();

/// Whether an option is an argument without dashes in front.
bool IsPositional(const OptionSpec& spec);
/// Whether an option may be given several times, or takes several arguments.
bool IsList(const OptionSpec& spec);
/// Name without dashes, e.g. "max-new-tokens"; that of a positional in small letters.
std::string OptionName(const OptionSpec& spec);
/// The present value in words; the default if `options` is fresh.
std::string ValueText(const OptionSpec& spec, const Options& options);

struct ParsedOptions {
  Options options;
  std::map<const OptionSpec*, Origin> origins;
  std::vector<std::string> notes;  ///< For the user, one sentence each.
};

/// Reads the arguments behind the command's name, then the environment.
/// Errors: kInvalidArgument with the three lines of a usage error.
Result<ParsedOptions> ParseOptions(Command command, std::string_view command_name, int argc, const char* const* argv);

}  // namespace prenorm::tools
