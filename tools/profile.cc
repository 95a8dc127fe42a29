// prenorm profile: where the time of a prompt and of a decoded token goes, operator by operator, the share of it that
// normalization takes, and what other norms would cost.
#include <algorithm>
#include <charconv>

#include "prenorm/encoder.h"
#include "prenorm/generate.h"
#include "prenorm/target.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/measure.h"
#include "tools/common/open_model.h"
#include "tools/common/prompt.h"
#include "tools/common/sample_text.h"
#include "tools/common/terminal.h"
#include "tools/profile/diff.h"
#include "tools/profile/measure_phases.h"
#include "tools/profile/render.h"
#include "tools/profile/roofline.h"
#include "tools/profile/trace.h"
#include "tools/profile/variants.h"

namespace prenorm::tools {
namespace {

constexpr size_t kTextTokens = 48;  // Whose logits --norms compares.
constexpr size_t kTraceTokens = 8;  // Decoded for --trace.

Status Usage(const std::string& what, const std::string& where, const std::string& action) {
  return Status(StatusCode::kInvalidArgument, what + "\n" + where + "\n" + action);
}

// "1,2,4"; empty text gives no numbers.
Result<std::vector<int64_t>> ParseList(const char* name, const std::string& text, int64_t least, int64_t most) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, number);
    if (error != std::errc() || end != text.data() + comma || number < least || number > most) {
      return Usage("A list of numbers cannot be read.",
                   std::string(name) + ": expected numbers from " + std::to_string(least) + " to " +
                       std::to_string(most) + ", separated by commas, found '" + text + "'",
                   std::string("For example: ") + name + " 1,2");
    }
    numbers.push_back(number);
    at = comma + 1;
  }
  return numbers;
}

class ProfileRun {
 public:
  explicit ProfileRun(const Options& options) : options_(options), counters_(/*open=*/true) {}

  Status ReadOptions() {
    if (options_.prefill < 1 || options_.decode < 1 || options_.prefill > 1000000 || options_.decode > 1000000) {
      return Usage("There must be something to measure.", "--prefill, --decode: expected 1 to 1000000",
                   "Give such numbers.");
    }
    Result<std::vector<int64_t>> threads = ParseList("--threads", options_.thread_list, 1, 1024);
    if (!threads.ok()) return threads.status();
    threads_ = *threads;
    Result<std::vector<int64_t>> depths = ParseList("--depth", options_.depths, 0, 10000000);
    if (!depths.ok()) return depths.status();
    for (const int64_t depth : *depths) depths_.push_back(static_cast<size_t>(depth));
    for (std::string what : options_.what_if) {
      if (what == "0") what = "norm=0";
      if (what.starts_with("norm=") && what != "norm=0") what = what.substr(5);
      const auto names = WhatIfNames();
      if (std::find(names.begin(), names.end(), what) == names.end()) {
        return Usage("An option has a value that it does not know.",
                     "--what-if: expected norm=0, norm=fused, norm=folded or norm=layernorm, found '" + what + "'",
                     "Choose one of these.");
      }
      what_if_.push_back(what);
    }
    if (options_.unfuse && std::find(what_if_.begin(), what_if_.end(), "fused") == what_if_.end())
      what_if_.push_back("fused");
    if (options_.prompt || options_.file) {
      Result<std::optional<std::string>> text = ReadPrompt(options_);
      if (!text.ok()) return text.status();
      if (text->has_value()) text_ = **text;
      if (!text_ || text_->empty()) return Usage("The prompt is empty.", "--prompt: expected a text", "Give one.");
    }
    return {};
  }

  Result<OpenedModel> Open() {
    Result<OpenedModel> opened = OpenModel(options_);
    if (!opened.ok()) return opened;
    const Tokenizer& tokenizer = opened->model->tokenizer();
    const uint64_t begin = NowNs();
    const Result<std::vector<TokenId>> ids = tokenizer.Encode(text_.value_or(kSampleText), {.add_special = true});
    if (!ids.ok()) return ids.status();
    if (!ids->empty())
      report_.around.tokenize_ns = static_cast<double>(NowNs() - begin) / static_cast<double>(ids->size());
    text_ids_ = *ids;
    const size_t vocab_size = opened->model->config().vocab_size;
    const auto decode = static_cast<size_t>(options_.decode);
    const size_t fits = opened->model->config().max_seq_len;
    auto prefill = static_cast<size_t>(options_.prefill);
    if (!text_ && prefill + decode > fits && fits > decode) {
      prefill = fits - decode;
      report_.notes.push_back("the model's context is " + std::to_string(fits) + " tokens: a prompt of " +
                              std::to_string(prefill));
    }
    prompt_ = text_ ? text_ids_ : SpreadTokens(prefill, vocab_size);
    decode_ = SpreadTokens(prefill + decode, vocab_size);
    decode_.erase(decode_.begin(), decode_.begin() + static_cast<std::ptrdiff_t>(prefill));
    return opened;
  }

  // Threads of a sweep get a session each, and so does the profile itself.
  Result<std::unique_ptr<Session>> NewSession(const OpenedModel& opened, int64_t threads) const {
    Options options = options_;
    options.threads = threads;
    size_t deepest = std::max(prompt_.size(), text_ids_.size());
    for (const size_t depth : depths_) deepest = std::max(deepest, depth);
    Result<std::unique_ptr<Session>> session = OpenSession(opened, options, deepest + decode_.size());
    if (session.ok()) (*session)->set_cancel_flag(&InterruptFlag());
    return session;
  }

  Status Measure(const OpenedModel& opened, Session& session) {
    Describe(session.model(), session.threads());
    const NormExperiment apart{NormPlacement::kApart};
    PhaseOptions phases = PhasesAt(depths_.empty() ? prompt_.size() : depths_.front());
    if (options_.unfuse) phases.norms = &apart;
    Result<std::vector<ProfilePhase>> measured =
        MeasurePhases(session, phases, report_.timer, report_.roofline, counters_);
    if (!measured.ok()) return measured.status();
    report_.phases = std::move(measured).value();
    MeasureAround(session);
    if (Status status = Sweep(opened, session); !status.ok()) return status;
    if (Status status = AskWhatIf(session); !status.ok()) return status;
    if (!options_.norms) return {};
    if (Status status = session.Rewind(report_.phases.back().depth); !status.ok()) return status;
    return CompareNorms(session, Variants(), report_);
  }

  void Describe(const Model& model, int threads) {
    report_.model = model.config().name.empty() ? model.config().architecture : model.config().name;
    report_.type = model.quantization();
    report_.target = ActiveTarget();
    report_.threads = threads;
    report_.n_layers = model.config().n_layers;
    report_.runs = std::max<int64_t>(5, options_.runs);
    report_.placement = options_.unfuse ? "apart" : "engine";
    report_.timer = MeasureTimerCost();
    Progress("limits of the machine");
    report_.roofline = MeasureRoofline(model, threads, options_.probe_mb);
    if (!counters_.reason().empty()) report_.notes.push_back("hardware counters: " + counters_.reason());
  }

  // An encoder reads one text at once, and there is nothing to decode.
  Status MeasureEncoderOf(const OpenedModel& opened) {
    const bool decoding = !options_.trace.empty() || options_.norms || options_.unfuse || !what_if_.empty() ||
                          !depths_.empty() || threads_.size() > 1;
    if (decoding) {
      return Usage("An encoder has no tokens to decode.",
                   "--trace, --norms, --unfuse, --what-if, --depth, several --threads: they compare decoded tokens",
                   "Leave them out, or profile a decoder.");
    }
    EncoderOptions encoder_options;
    encoder_options.threads = threads_.empty() ? 0 : static_cast<int>(threads_.front());
    Result<std::unique_ptr<Encoder>> made = Encoder::Create(opened.model, encoder_options);
    if (!made.ok()) return made.status();
    Encoder& encoder = **made;
    encoder.set_cancel_flag(&InterruptFlag());
    if (!text_ && prompt_.size() > encoder.max_tokens()) prompt_.resize(encoder.max_tokens());
    Describe(*opened.model, encoder.threads());
    Result<std::vector<ProfilePhase>> measured =
        MeasureEncoder(encoder, PhasesAt(0), report_.timer, report_.roofline, counters_);
    if (!measured.ok()) return measured.status();
    report_.phases = std::move(measured).value();
    return {};
  }

  Status WriteFiles(Session* session) {
    if (!options_.svg.empty()) {
      if (Status status = WriteFile(options_.svg, ProfileSvg(report_)); !status.ok()) return status;
    }
    if (!options_.html.empty()) {
      if (Status status = WriteFile(options_.html, ProfileHtml(report_)); !status.ok()) return status;
    }
    if (options_.trace.empty()) return {};
    const size_t events = 40 * (report_.n_layers + 1);
    const Result<nlohmann::ordered_json> trace =
        RecordTrace(*session, prompt_, std::span(decode_).first(std::min(kTraceTokens, decode_.size())), events);
    return trace.ok() ? WriteFile(options_.trace, JsonLine(*trace)) : trace.status();
  }

  std::string Text() const {
    if (!options_.json) return ProfileTable(report_);
    nlohmann::ordered_json json = NewJson(report_.threads);
    AddProfileJson(report_, json);
    return JsonLine(json);
  }

  const std::vector<int64_t>& threads() const { return threads_; }

 private:
  PhaseOptions PhasesAt(size_t depth) const {
    PhaseOptions phases;
    phases.prompt = prompt_;
    phases.decode = decode_;
    phases.depth = depth;
    phases.chunk = static_cast<size_t>(options_.chunk);
    phases.runs = std::max<int64_t>(5, options_.runs);
    phases.progress = [](const std::string& text) { Progress(text); };
    return phases;
  }

  VariantOptions Variants() const {
    VariantOptions variants;
    variants.text = text_ids_;
    if (variants.text.size() > kTextTokens) variants.text.resize(kTextTokens);
    variants.token = decode_.front();
    variants.runs = std::max<int64_t>(5, options_.runs);
    variants.progress = [](const std::string& text) { Progress(text); };
    return variants;
  }

  // What a text costs besides the steps; the logits are those that the last phase left.
  void MeasureAround(Session& session) {
    const std::span<const float> logits = session.logits();
    SamplerOptions settings;
    settings.temperature = static_cast<float>(options_.temperature);
    settings.top_p = static_cast<float>(options_.top_p);
    Result<Sampler> sampler = Sampler::Create(settings);
    if (!sampler.ok() || logits.empty()) return;
    std::vector<double> sample, text;
    StreamDecoder decoder(session.model().tokenizer());
    for (int i = 0; i < 32; ++i) {
      std::vector<float> work(logits.begin(), logits.end());
      uint64_t begin = NowNs();
      const TokenId id = sampler->Sample(work);
      sampler->Accept(id);
      sample.push_back(static_cast<double>(NowNs() - begin));
      begin = NowNs();
      const std::string piece = decoder.Push(id);
      text.push_back(static_cast<double>(NowNs() - begin));
    }
    report_.around.sample_ns = Quantile(sample, 0.5);
    report_.around.text_ns = Quantile(text, 0.5);
  }

  Status Sweep(const OpenedModel& opened, Session& first) {
    if (threads_.size() < 2 && depths_.size() < 2) return {};
    const std::vector<int64_t> threads = threads_.empty() ? std::vector<int64_t>{first.threads()} : threads_;
    std::vector<size_t> depths = depths_;
    if (depths.empty()) depths.push_back(prompt_.size());
    Counters none(/*open=*/false);
    for (const int64_t count : threads) {
      Result<std::unique_ptr<Session>> session = NewSession(opened, count);
      if (!session.ok()) return session.status();
      for (const size_t depth : depths) {
        PhaseOptions phases = PhasesAt(depth);
        phases.prompt.clear();
        phases.overhead_seconds = 0;
        Result<std::vector<ProfilePhase>> measured =
            MeasurePhases(**session, phases, report_.timer, report_.roofline, none);
        if (!measured.ok()) return measured.status();
        const ProfilePhase& phase = measured->front();
        report_.sweep.push_back({static_cast<int>(count), depth, phase.wall_ns / static_cast<double>(phase.tokens),
                                 ShareOf(phase, OpKind::kNorm), ShareOf(phase, OpKind::kResidual),
                                 ShareOf(phase, OpKind::kMatMul), ShareOf(phase, OpKind::kAttention),
                                 ShareOf(phase, OpKind::kBarrier)});
      }
    }
    return {};
  }

  Status AskWhatIf(Session& session) {
    if (what_if_.empty()) return {};
    const ProfilePhase* apart_phase = nullptr;
    std::vector<ProfilePhase> unfused;
    if (std::find(what_if_.begin(), what_if_.end(), "fused") != what_if_.end()) {
      const NormExperiment apart{NormPlacement::kApart};
      PhaseOptions phases = PhasesAt(report_.phases.back().depth);
      phases.norms = &apart;
      phases.overhead_seconds = 0;
      Counters none(/*open=*/false);
      Result<std::vector<ProfilePhase>> measured =
          MeasurePhases(session, phases, report_.timer, report_.roofline, none);
      if (!measured.ok()) return measured.status();
      unfused = std::move(measured).value();
      apart_phase = &unfused.back();
    }
    // Back to where the profiled tokens were.
    if (Status status = session.Rewind(report_.phases.back().depth); !status.ok()) return status;
    for (const std::string& what : what_if_) {
      if (Status status = AnswerWhatIf(session, what, Variants(), apart_phase, report_); !status.ok()) return status;
    }
    return {};
  }

  const Options& options_;
  Counters counters_;
  ProfileReport report_;
  std::vector<int64_t> threads_;
  std::vector<size_t> depths_;
  std::vector<std::string> what_if_;
  std::optional<std::string> text_;
  std::vector<TokenId> text_ids_, prompt_, decode_;
};

int Diff(const Options& options) {
  if (options.files.size() != 2) {
    return Fail(Usage("Two profiles are needed.",
                      "prenorm profile diff: expected 2 files, found " + std::to_string(options.files.size()),
                      "For example: prenorm profile diff a.json b.json"));
  }
  const Result<std::string> text = DiffProfiles(options.files[0], options.files[1], options.json);
  return text.ok() ? PrintAnswer(*text) : Fail(text.status());
}

}  // namespace

int RunProfile(const Options& options) {
  if (options.model == "diff") return Diff(options);
  if (!options.files.empty()) {
    return Fail(Usage("There is one argument too many.", "prenorm profile: '" + options.files.front() + "'",
                      "To compare two profiles: prenorm profile diff A.json B.json"));
  }
  ProfileRun run(options);
  if (Status status = run.ReadOptions(); !status.ok()) return Fail(status);
  Result<OpenedModel> opened = run.Open();
  if (!opened.ok()) return FailModel(opened.status());
  std::unique_ptr<Session> session;
  Status status;
  if (opened->model->is_encoder()) {
    status = run.MeasureEncoderOf(*opened);
  } else {
    Result<std::unique_ptr<Session>> made = run.NewSession(*opened, run.threads().empty() ? 0 : run.threads().front());
    if (!made.ok()) return Fail(made.status());
    session = std::move(*made);
    status = run.Measure(*opened, *session);
  }
  if (status.ok()) status = run.WriteFiles(session.get());
  Progress("");
  if (!status.ok()) return Fail(status);
  return PrintAnswer(run.Text());
}

}  // namespace prenorm::tools
