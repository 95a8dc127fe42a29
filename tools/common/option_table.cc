// The option table. Command line, environment, help and --print-config are all made from it.
#include "tools/common/options.h"

namespace prenorm::tools {
namespace {

constexpr uint32_t kText = kGenerate | kChat;
constexpr uint32_t kSessions = kText | kLogits | kBench | kProfile | kPerplexity | kVerify;
constexpr uint32_t kModels = kSessions | kTokenize | kInspect;
constexpr uint32_t kAll = kModels | kManage | kQuantize | kDoctor | kNorms;

const OptionSpec kOptions[] = {
    {"MODEL", "-m,--model", "", "A model file, or the name of one in the cache.", "Model", "PRENORM_MODEL", kModels,
     &Options::model, "", "the default of the catalog"},
    {"ACTION", "", "", "List the catalog and the cache; fetch a model; print its path; remove it.", "Models", "", kManage,
     &Options::action, "list|fetch|path|remove", ""},
    {"NAME", "", "", "A name of the catalog, the address of a .gguf file, or OWNER/NAME[:PART] of the hub.", "Models", "",
     kManage, &Options::model, "", "the default of the catalog"},
    {"--sha256", "", "HEX", "What the SHA-256 of a fetched address must be.", "Models", "", kManage, &Options::sha256, "", ""},
    {"IN", "", "", "The model to read, a GGUF file with weights of F32, F16 or BF16.", "Model", "", kQuantize, &Options::from},
    {"OUT", "", "", "The GGUF file to write; it appears when it is complete.", "Model", "", kQuantize, &Options::to},
    {"RECIPE", "", "", "What the matrices become.", "Model", "", kQuantize, &Options::recipe,
     "F16|BF16|Q8_0|Q4_0|Q4_1|Q5_0|Q5_1|Q6_K|Q4_K_M|Q5_K_M", ""},
    {"-t,--threads", "", "N", "Threads.", "Model", "PRENORM_THREADS", kSessions | kQuantize, &Options::threads, "",
     "as many as this process may use"},
    {"-c,--context", "--ctx-size", "N", "Tokens that prompt and answer may have together.", "Model", "PRENORM_CONTEXT",
     (kSessions & ~kPerplexity) | kInspect, &Options::context, "", "the model's, at most 8192"},
    {"-c,--ctx", "--ctx-size,--context", "N", "Tokens of a window. Each is read for itself, its second half is scored.", "Model",
     "", kPerplexity, &Options::window, "", ""},
    {"--cache", "", "TYPE", "Element type of the key-value cache.", "Model", "PRENORM_CACHE",
     kSessions | kInspect, &Options::cache, "auto|f32|f16|bf16", ""},
    {"--chunk", "--ubatch-size", "N", "Prompt tokens evaluated together.", "Model", "", kSessions, &Options::chunk, "", ""},
    {"--target", "", "NAME", "SIMD target of the kernels, e.g. AVX2.", "Model", "PRENORM_TARGET", kModels | kDoctor | kNorms, &Options::target,
     "", "the best one of this CPU"},
    {"--no-mmap", "", "", "Read the model file into memory instead of mapping it.", "Model", "", kModels, &Options::no_mmap,
     "", ""},
    {"--no-memory-check", "", "", "Load the model even where memory looks too small.", "Model", "", kSessions | kTokenize,
     &Options::no_memory_check, "", ""},

    {"-p,--prompt", "", "TEXT", "The text. Piped input is put before it, with a newline between.", "Prompt", "",
     kText | kTokenize | kPerplexity, &Options::prompt, "", "standard input"},
    {"-f,--file", "", "FILE", "Take the text from a file, byte for byte.", "Prompt", "", kText | kTokenize | kPerplexity, &Options::file, "",
     ""},
    {"-e,--escape", "", "", "Turn \\n, \\t, \\r, \\\\, \\\" and \\' of the prompt argument into what they stand for.", "Prompt",
     "", kText | kTokenize | kPerplexity, &Options::escape, "", ""},
    {"--special", "", "", "Markers in the text, e.g. <|im_end|>, become control tokens.", "Prompt", "",
     kGenerate | kTokenize, &Options::special, "", ""},
    {"--add-special", "--bos", "", "Add what the model puts around a text, e.g. its beginning token.", "Prompt", "",
     kTokenize, &Options::add_special, "", ""},
    {"--prefix", "", "TEXT", "Write what is missing behind this text and before that of --suffix (code models).", "Prompt", "",
     kGenerate, &Options::prefix, "", ""},
    {"--suffix", "", "TEXT", "The text behind the gap.", "Prompt", "", kGenerate, &Options::suffix, "", ""},
    {"--system", "", "TEXT", "System message.", "Prompt", "", kChat, &Options::system, "", "what the model's template says"},
    {"--show-prompt", "", "", "Print the rendered prompt and its ids, and answer nothing.", "Prompt", "", kChat,
     &Options::show_prompt, "", ""},

    {"-n,--max-new-tokens", "--n-predict", "N", "New tokens at most; -1: until the end of the answer or of the context.",
     "Length", "", kText, &Options::max_new_tokens, "", ""},
    {"--stop", "--stop-strings", "TEXT", "End before this text; may be given several times.", "Length", "", kText,
     &Options::stop, "", ""},
    {"--ignore-end-tokens", "--ignore-eos", "", "Go on after the model's end tokens.", "Length", "", kText,
     &Options::ignore_end_tokens, "", ""},

    {"--temp,--temperature", "", "T", "0 is greedy; higher is more varied.", "Sampling", "PRENORM_TEMPERATURE", kText,
     &Options::temperature, "", ""},
    {"--top-k", "", "K", "Only the K likeliest tokens; 0: all.", "Sampling", "", kText, &Options::top_k, "", ""},
    {"--top-p", "", "P", "Only the likeliest tokens that hold the share P; 1: all.", "Sampling", "", kText, &Options::top_p, "",
     ""},
    {"--min-p", "", "P", "Only tokens at least P times as likely as the likeliest.", "Sampling", "", kText, &Options::min_p, "",
     ""},
    {"--typical-p", "--typical", "P", "Only tokens of about average surprise that hold the share P; 1: all.", "Sampling", "",
     kText, &Options::typical_p, "", ""},
    {"--repetition-penalty", "--repeat-penalty", "X", "Above 1: tokens seen before become less likely.", "Sampling", "", kText,
     &Options::repetition_penalty, "", ""},
    {"--presence-penalty", "", "X", "Subtracted once from the logit of a token seen before.", "Sampling", "", kText,
     &Options::presence_penalty, "", ""},
    {"--frequency-penalty", "", "X", "Subtracted as often as the token was seen.", "Sampling", "", kText,
     &Options::frequency_penalty, "", ""},
    {"--no-repeat-ngram-size", "", "N", "No sequence of N tokens occurs twice; 0: off.", "Sampling", "", kText,
     &Options::no_repeat_ngram_size, "", ""},
    {"--logit-bias", "", "ID=X", "Added to the logit of a token; may be given several times.", "Sampling", "", kText,
     &Options::logit_bias, "", ""},
    {"-s,--seed", "", "N", "The same seed gives the same text.", "Sampling", "PRENORM_SEED", kText, &Options::seed, "",
     "random, and reported"},

    {"--tokens", "", "IDS", "Token ids, separated by commas or spaces.", "Tokens", "", kLogits, &Options::tokens, "", ""},
    {"--tokens-file", "", "FILE", "A file of token ids.", "Tokens", "", kLogits, &Options::tokens_file, "", ""},
    {"-o,--out", "", "FILE", "The .npy file to write: f32 [tokens, vocabulary].", "Tokens", "", kLogits, &Options::out, "", ""},

    {"--accuracy", "", "", "Compare every operation with long double, under every SIMD target that runs here.", "Measuring", "",
     kNorms, &Options::accuracy, "", ""},
    {"--cols-max", "", "N", "Longest rows.", "Measuring", "", kNorms, &Options::cols_max, "", ""},
    {"--chunks", "--windows", "N", "Only the first N windows; -1: all.", "Measuring", "", kPerplexity, &Options::windows, "", ""},
    {"--save-logits", "", "FILE",
     "Write a .npy file, f32 [scored positions, vocabulary]: the log-probabilities, window by window.", "Measuring", "",
     kPerplexity, &Options::save_logits, "", ""},
    {"--kl", "", "FILE",
     "Compare with such a file of the same text and windows, the reference: KL divergence, same likeliest token.", "Measuring",
     "", kPerplexity, &Options::kl, "", ""},
    {"--tests", "", "LIST", "pp512: a prompt of 512 tokens; tg128: 128 new tokens; tg128@d2048: after 2048 others.",
     "Measuring", "", kBench, &Options::tests, "", ""},
    {"--probe-mb", "", "N", "Memory that the bandwidth probe reads; less than the caches hold measures these.", "Measuring", "",
     kBench, &Options::probe_mb, "", ""},
    {"--prefill", "", "N", "Tokens of the prompt.", "Measuring", "", kProfile, &Options::prefill, "", ""},
    {"--decode", "", "N", "Tokens decoded one by one after it.", "Measuring", "", kProfile, &Options::decode, "", ""},
    {"-r,--runs", "--repetitions", "N", "Measured repetitions, at least 5, after one that is not counted.", "Measuring", "",
     kBench | kProfile, &Options::runs, "", ""},

    {"--tokens", "", "N", "Tokens to compare: one half as a prompt, the other one by one.", "Verifying", "", kVerify,
     &Options::verify_tokens, "", ""},
    {"--tolerance", "", "X", "Largest deviation that holds, as a share of the largest element of its row.", "Verifying", "",
     kVerify, &Options::tolerance, "", "0.0001 with f32 weights and cache, up to 0.04 otherwise"},

    {"--json", "", "", "Print one JSON object.", "Output", "", kAll & ~kLogits, &Options::json, "", ""},
    {"--jsonl", "", "", "Print one JSON object a token.", "Output", "", kText, &Options::jsonl, "", ""},
    {"--ids", "", "", "Print only the ids, separated by commas.", "Output", "", kTokenize, &Options::ids, "", ""},
    {"--format", "", "TYPE", "Form of the table.", "Output", "", kBench, &Options::format, "md|csv|json", ""},
    {"-q,--quiet", "", "", "No statistics.", "Output", "", kSessions | kQuantize, &Options::quiet, "", ""},
    {"--color", "", "WHEN", "Colours in messages.", "Output", "", kAll, &Options::color, "auto|always|never", ""},
    {"--print-config", "", "", "Print every option with its value and where that comes from.", "Output", "", kAll,
     &Options::print_config, "", ""},
    {"-h,--help", "", "", "This text.", "Output", "", kAll, &Options::help, "", ""},
};

}  // namespace

std::span<const OptionSpec> OptionTable() { return kOptions; }

}  // namespace prenorm::tools
