// What a profile is made of: measured phases with a slow norm in them, sums and bounds, pictures, pages, traces.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "prenorm/quantize.h"
#include "tests/support/session_helpers.h"
#include "tests/support/short_phases.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_model.h"
#include "tools/common/measure.h"
#include "tools/profile/measure_phases.h"
#include "tools/profile/render.h"
#include "tools/profile/stand_ins.h"
#include "tools/profile/svg_canvas.h"
#include "tools/profile/trace.h"

namespace prenorm::tools {
namespace {

// RMSNorm, and for one site of one layer a long time.
class SlowAtOneSite : public RmsStandIn {
 public:
  SlowAtOneSite() : RmsStandIn(/*with_gain=*/true) {}
  void Normalize(const NormCall& call) override {
    RmsStandIn::Normalize(call);
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (call.site == OpSite::kFfnNorm && call.layer == 1 && std::chrono::steady_clock::now() < end) {
    }
  }
};

TEST(ProfileTest, NamesASlowNormAtItsSiteAndLayer) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  ASSERT_GT(model->config().n_layers, 1u);
  for (const int threads : {1, 2}) {
    SessionOptions session_options;
    session_options.threads = threads;
    const auto session = MakeSession(model, session_options);
    SlowAtOneSite slow;
    const NormExperiment experiment{NormPlacement::kRedundant, &slow};
    PhaseOptions options = ShortPhases(*model);
    options.norms = &experiment;
    Counters counters(/*open=*/false);
    ProfileReport report;
    Result<std::vector<ProfilePhase>> phases =
        MeasurePhases(*session, options, MeasureTimerCost(), report.roofline, counters);
    ASSERT_TRUE(phases.ok()) << phases.status().message();
    ASSERT_EQ(phases->size(), 2u);
    for (const ProfilePhase& phase : *phases) {
      const SlowestNorm slowest = FindSlowestNorm(phase);
      ASSERT_NE(slowest.row, nullptr);
      EXPECT_EQ(slowest.row->site, OpSite::kFfnNorm) << phase.name << ", threads " << threads;
      EXPECT_EQ(slowest.row->layer, 1) << phase.name << ", threads " << threads;
    }
    report.phases = *phases;
    EXPECT_NE(ProfileTable(report).find("slowest norm: ffn_norm of layer 1"), std::string::npos)
        << ProfileTable(report);
  }
}

TEST(ProfileTest, RowsTimerAndRestAreTheWholeAndLeaveTheSessionAsItWas) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  const auto session = MakeSession(model);
  Counters counters(/*open=*/false);
  PhaseOptions options = ShortPhases(*model);
  options.runs = 7;
  const TimerCost timer{10, 25, 1};
  Result<std::vector<ProfilePhase>> phases = MeasurePhases(*session, options, timer, {}, counters);
  ASSERT_TRUE(phases.ok()) << phases.status().message();
  for (const ProfilePhase& phase : *phases) {
    double sum = phase.timer_share + phase.unattributed_share;
    uint64_t calls = 0;
    for (const ProfileRow& row : phase.rows) {
      sum += row.ns / phase.wall_ns;
      calls += row.calls;
      EXPECT_LE(row.p10_ns, row.p90_ns);
    }
    EXPECT_NEAR(sum, 1.0, 1e-9);
    const double threads = session->threads();
    EXPECT_NEAR(phase.timer_share * phase.wall_ns, static_cast<double>(calls) * 25 / threads, 1e-3);
    EXPECT_LE(phase.p10_ns, phase.wall_ns);
    EXPECT_GE(phase.p90_ns, phase.wall_ns);
    EXPECT_GE(phase.overhead.pairs, 5u);
  }
  EXPECT_EQ((*phases)[0].tokens, 12u);
  EXPECT_EQ((*phases)[1].depth, 12u);
  // What the profile ran with must be gone.
  const auto fresh = MakeSession(model);
  ASSERT_TRUE(session->Rewind(0).ok());
  const std::vector<TokenId> tokens = SomeTokens(5, *model);
  EXPECT_TRUE(SameBytes(AllLogits(*session, tokens), AllLogits(*fresh, tokens)));
}

TEST(ProfileTest, UnfusedRunsShowResidualSumsAndPackingOfTheirOwn) {
  // F32 weights take rows as they are: nothing would be packed.
  const TemporaryFolder folder;
  const std::string path = folder.path("q8_0.gguf");
  QuantizeOptions quantize;
  quantize.recipe = "Q8_0";
  ASSERT_TRUE(QuantizeFile(TinyModelPath(), path, quantize).ok());
  const auto loaded = Model::Load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const std::shared_ptr<const Model> model = *loaded;
  const auto session = MakeSession(model);
  Counters counters(/*open=*/false);
  PhaseOptions options = ShortPhases(*model);
  const NormExperiment apart{NormPlacement::kApart};
  for (const NormExperiment* norms : {static_cast<const NormExperiment*>(nullptr), &apart}) {
    options.norms = norms;
    Result<std::vector<ProfilePhase>> phases = MeasurePhases(*session, options, {}, {}, counters);
    ASSERT_TRUE(phases.ok()) << phases.status().message();
    for (const ProfilePhase& phase : *phases) {
      EXPECT_EQ(ShareOf(phase, OpKind::kResidual) > 0, norms != nullptr) << phase.name;
      bool packs_behind_norm = false;
      for (const ProfileRow& row : phase.rows) {
        packs_behind_norm = packs_behind_norm || (row.kind == OpKind::kPack && row.site == OpSite::kAttnNorm);
      }
      EXPECT_EQ(packs_behind_norm, norms != nullptr) << phase.name;
      for (const ProfileRow& row : phase.rows) {
        const bool fuses =
            row.kind == OpKind::kNorm ||
            (row.kind == OpKind::kMatMul && (row.site == OpSite::kDown || row.site == OpSite::kAttnOutput));
        const char* with = row.kind == OpKind::kNorm ? "pack" : "residual";
        EXPECT_STREQ(row.fused, fuses && norms == nullptr ? with : "") << OpKindName(row.kind) << OpSiteName(row.site);
      }
    }
  }
}

TEST(ProfileTest, BoundIsTheLimitThatExplainsHalfOfTheTime) {
  Roofline roofline{10e9, 100e9, 1000e9, 100e9};
  ProfileRow row{OpKind::kMatMul, OpSite::kQkv, 0};
  row.ns = 1000;
  row.work = {6000, 1000, 6000};  // 600 ns of memory, 1 ns of arithmetic.
  EXPECT_STREQ(BoundOf(row, roofline), "memory");
  row.work = {6000, 1000, 0};  // From caches: 60 ns.
  EXPECT_STREQ(BoundOf(row, roofline), "latency");
  row.work = {6000, 900000, 0};  // 900 ns of arithmetic.
  EXPECT_STREQ(BoundOf(row, roofline), "compute");
  row.kind = OpKind::kNorm;
  row.work = {6000, 60000, 0};  // 600 ns at the rate of f32.
  EXPECT_STREQ(BoundOf(row, roofline), "compute");
  for (const OpKind kind : {OpKind::kBarrier, OpKind::kIdle}) {
    row.kind = kind;
    EXPECT_STREQ(BoundOf(row, roofline), "wait");
  }
}

ProfileReport SampleReport() {
  ProfileReport report;
  report.model = "A <model> & \"more\"";
  report.type = "Q4_1";
  report.target = "AVX2";
  report.threads = 2;
  report.n_layers = 3;
  report.runs = 5;
  report.roofline = {10e9, 100e9, 500e9, 100e9};
  for (const char* name : {"prefill", "decode"}) {
    ProfilePhase phase;
    phase.name = name;
    phase.tokens = 4;
    phase.wall_ns = 40000;
    for (int32_t layer = 0; layer < 3; ++layer) {
      for (const auto& [kind, site, ns] :
           {std::tuple(OpKind::kNorm, OpSite::kAttnNorm, 100.0), std::tuple(OpKind::kMatMul, OpSite::kQkv, 9000.0),
            std::tuple(OpKind::kBarrier, OpSite::kQkv, 700.0)}) {
        ProfileRow row{kind, site, layer, 8, ns * (layer + 1), ns * (layer + 1) / 40000};
        row.work = {1000, 2000, 500};
        row.bound = BoundOf(row, report.roofline);
        phase.rows.push_back(row);
      }
    }
    report.phases.push_back(phase);
  }
  report.variants.push_back({"engine", "as <it> is", {1000, 900, 100, 90, 110, 50}, 1000, 1e-6});
  report.claims.push_back({"c", "a > b", "source", "1 % < 2 %", "refuted"});
  report.what_if.push_back({"norm=0", "no norms", 100, {1000, 900, 100, 90, 110, 50}});
  report.notes.push_back("a & b");
  return report;
}

// Empty if `text` is well-formed as far as tags, attributes and entities go; else what is wrong.
std::string XmlFault(const std::string& text) {
  std::vector<std::string> open;
  const std::regex tag("^<(/?)([A-Za-z][A-Za-z0-9]*)((\\s+[A-Za-z_:-][A-Za-z0-9_:-]*=\"[^<\"]*\")*)\\s*(/?)>");
  const std::regex entity("^&(amp|lt|gt|quot|apos|#[0-9]+);");
  size_t roots = 0;
  for (size_t at = 0; at < text.size();) {
    std::smatch match;
    if (text[at] == '<') {
      const std::string rest = text.substr(at, std::min<size_t>(2000, text.size() - at));
      if (!std::regex_search(rest, match, tag)) return "no tag: " + rest.substr(0, 60);
      if (match[1].length() > 0) {
        if (open.empty() || open.back() != match[2]) return "closes what is not open: " + match[0].str();
        open.pop_back();
      } else if (match[5].length() == 0) {
        if (open.empty()) ++roots;
        open.push_back(match[2]);
      }
      at += static_cast<size_t>(match[0].length());
    } else if (text[at] == '&') {
      const std::string rest = text.substr(at, std::min<size_t>(12, text.size() - at));
      if (!std::regex_search(rest, match, entity)) return "no entity: " + rest;
      at += static_cast<size_t>(match[0].length());
    } else {
      if (open.empty() && text[at] != '\n') return "text outside the root";
      ++at;
    }
  }
  return open.empty() && roots == 1 ? "" : "not closed, or not one root";
}

TEST(ProfileSvgTest, IsWellFormedAndHasItsParts) {
  const std::string svg = ProfileSvg(SampleReport());
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_EQ(XmlFault("<a><b></a></b>") == "", false);  // The check can fail.
  for (const char* part : {"A &lt;model&gt; &amp; &quot;more&quot;", "width=\"800.00\"", "prefers-color-scheme:dark",
                           "norm attn_norm", "roofline", "by layer and site", "layer 2, attn_norm: 75 ns"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(ProfileSvgTest, KindsHaveColoursOfTheirOwn) {
  std::map<std::string, int> colors;
  for (size_t kind = 0; kind < OpTotals::kKinds; ++kind) ++colors[KindColor(static_cast<OpKind>(kind))];
  EXPECT_EQ(colors.size(), OpTotals::kKinds);
  EXPECT_EQ(HeatColor(0), "#00224e");
  EXPECT_EQ(HeatColor(1), "#fee838");
}

TEST(ProfileHtmlTest, LoadsNothingAndShowsEveryRow) {
  const std::string html = ProfileHtml(SampleReport());
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  std::string rest = html;
  const std::string name_space = "http://www.w3.org/2000/svg";  // A name, not an address that is loaded.
  for (size_t at; (at = rest.find(name_space)) != std::string::npos;) rest.erase(at, name_space.size());
  for (const char* loads : {"http:", "https:", "//cdn", "src=", "@import", "url(", "<link"}) {
    EXPECT_EQ(rest.find(loads), std::string::npos) << loads;
  }
  size_t rows = 0;
  for (size_t at = html.find("<tr"); at != std::string::npos; at = html.find("<tr", at + 1)) ++rows;
  EXPECT_EQ(rows, 2 * (9 + 1) + 2u);  // Both phases with a heading each, one variant with its heading.
  EXPECT_EQ(html.find("as <it> is"), std::string::npos);
}

// Complete events on one track either contain each other or do not touch.
void ExpectNested(const nlohmann::ordered_json& trace, int threads) {
  std::map<int, std::vector<std::pair<double, double>>> open;
  std::map<int, size_t> names;
  std::map<std::string, size_t> categories;
  for (const auto& event : trace.at("traceEvents")) {
    const int thread = event.at("tid");
    EXPECT_EQ(event.at("pid"), 1);
    if (event.at("ph") == "M") {
      ++names[thread];
      EXPECT_TRUE(event.at("args").at("name").is_string());
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    ++categories[event.at("cat")];
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    EXPECT_GE(begin, 0);
    EXPECT_GE(end, begin);
    auto& stack = open[thread];
    constexpr double kRounding = 1e-4;  // Microseconds.
    while (!stack.empty() && stack.back().second <= begin + kRounding) stack.pop_back();
    EXPECT_TRUE(stack.empty() || end <= stack.back().second + kRounding) << event.dump();
    stack.emplace_back(begin, end);
  }
  EXPECT_EQ(open.size(), static_cast<size_t>(threads));
  EXPECT_GE(names.size(), static_cast<size_t>(threads));
  EXPECT_GT(categories["step"], 0u);
  EXPECT_GT(categories["layer"], 0u);
  EXPECT_GT(categories["norm"], 0u);
}

TEST(ProfileTraceTest, EventsNestOnOneTrackAThread) {
  const auto model = LoadTinyModel();
  ASSERT_NE(model, nullptr);
  for (const int threads : {1, 2}) {
    SessionOptions options;
    options.threads = threads;
    const auto session = MakeSession(model, options);
    const std::vector<TokenId> tokens = SomeTokens(9, *model);
    const Result<nlohmann::ordered_json> trace = RecordTrace(
        *session, std::span(tokens).first(6), std::span(tokens).subspan(6), 40 * (model->config().n_layers + 1));
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    ExpectNested(*trace, threads);
    EXPECT_FALSE(trace->contains("otherData"));
    size_t steps = 0;
    for (const auto& event : trace->at("traceEvents"))
      steps += event.value("cat", "") == "step" && event.at("tid") == 0;
    EXPECT_EQ(steps, 4u);  // The prompt and three tokens.
  }
}

TEST(ProfileTraceTest, WhatDoesNotFitIsCounted) {
  TraceRecorder recorder(1, 2);
  for (uint64_t i = 0; i < 5; ++i) recorder.Record({OpKind::kNorm, OpSite::kAttnNorm, 0, 0, 10 * i, 10 * i + 5});
  EXPECT_EQ(recorder.dropped(), 3u);
  const nlohmann::ordered_json trace = TraceJson(recorder, {{"step", 0, 100}});
  EXPECT_EQ(trace.at("otherData").at("dropped_events"), 3);
}

}  // namespace
}  // namespace prenorm::tools
