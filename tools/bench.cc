// prenorm bench: tokens a second of prompts and of decoding, with a bandwidth probe of the same run. As in llama-bench,
// only the evaluation of tokens is timed; choosing and printing them is not.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "prenorm/target.h"
#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/common/interrupt.h"
#include "tools/common/measure.h"
#include "tools/common/open_model.h"
#include "tools/common/terminal.h"
#include "tools/common/words.h"

namespace prenorm::tools {
namespace {

struct Test {
  std::string name;
  bool decode;  // One token at a time.
  size_t tokens;
  size_t depth;  // Tokens in the cache before.
};

struct Measured {
  Test test;
  std::vector<double> rates;  // Tokens a second, by run.
  double median, p10, p90;
};

// "pp512", "tg128", "tg128@d2048".
std::optional<Test> ParseTest(const std::string& name) {
  Test test{name, name.starts_with("tg"), 0, 0};
  if (!test.decode && !name.starts_with("pp")) return std::nullopt;
  const char* end = name.data() + name.size();
  auto result = std::from_chars(name.data() + 2, end, test.tokens);
  if (result.ec == std::errc() && result.ptr + 2 < end && result.ptr[0] == '@' && result.ptr[1] == 'd') {
    result = std::from_chars(result.ptr + 2, end, test.depth);
  }
  const bool fine = result.ec == std::errc() && result.ptr == end && test.tokens > 0 && test.tokens <= 1000000 &&
                    test.depth <= 10000000;
  return fine ? std::optional<Test>(test) : std::nullopt;
}

Result<std::vector<Test>> ParseTests(const std::string& list) {
  std::vector<Test> tests;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, comma - at);
    const std::optional<Test> test = ParseTest(name);
    if (!test) {
      return Status(StatusCode::kInvalidArgument,
                    "A test cannot be read.\n--tests: expected ppN, tgN or tgN@dN, found '" + name +
                        "'\nFor example: --tests pp512,tg128,tg128@d2048");
    }
    tests.push_back(*test);
    at = comma + 1;
  }
  return tests;
}

// One repetition: nanoseconds.
Result<uint64_t> RunOnce(Session& session, const Test& test, std::span<const TokenId> ids) {
  if (Status status = session.Rewind(test.depth); !status.ok()) return status;
  const uint64_t begin = NowNs();
  if (!test.decode) {
    if (Status status = session.Eval(ids); !status.ok()) return status;
  } else {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (Status status = session.Eval(ids.subspan(i, 1)); !status.ok()) return status;
    }
  }
  return NowNs() - begin;
}

Result<Measured> Measure(Session& session, const Test& test, int64_t runs) {
  const size_t vocab_size = session.model().config().vocab_size;
  if (Status status = session.Rewind(0); !status.ok()) return status;
  if (test.depth > 0) {
    if (Status status = session.Eval(SpreadTokens(test.depth, vocab_size)); !status.ok()) return status;
  }
  const std::vector<TokenId> ids = SpreadTokens(test.tokens, vocab_size);
  std::vector<double> rates;
  for (int64_t run = -1; run < runs; ++run) {  // The first one warms up.
    Progress(test.name + ": run " + std::to_string(run + 1) + " of " + std::to_string(runs));
    Result<uint64_t> ns = RunOnce(session, test, ids);
    if (!ns.ok()) return ns.status();
    if (run >= 0) rates.push_back(static_cast<double>(test.tokens) * 1e9 / static_cast<double>(*ns));
  }
  Progress("");
  return Measured{test, rates, Quantile(rates, 0.5), Quantile(rates, 0.1), Quantile(rates, 0.9)};
}

std::string Table(const Session& session, const std::vector<Measured>& results, double probe, bool csv) {
  const Model& model = session.model();
  const std::string name = model.config().name.empty() ? model.config().architecture : model.config().name;
  std::string text = csv ? "model,type,bytes,target,threads,test,median_ts,p10_ts,p90_ts,gbs,probe_gbs\n"
                         : "| model | type | size | target | threads | test | t/s | p10 | p90 | GB/s | of the probe |\n"
                           "|---|---|---:|---|---:|---|---:|---:|---:|---:|---:|\n";
  for (const Measured& m : results) {
    const double gbs = m.test.decode ? static_cast<double>(model.decode_bytes()) * m.median / 1e9 : 0.0;
    char line[512];
    if (csv) {
      std::snprintf(line, sizeof line, "\"%s\",%s,%zu,%s,%d,%s,%.2f,%.2f,%.2f,%s,%.2f\n", name.c_str(),
                    std::string(model.quantization()).c_str(), model.weight_bytes(), ActiveTarget(), session.threads(),
                    m.test.name.c_str(), m.median, m.p10, m.p90, m.test.decode ? std::to_string(gbs).c_str() : "",
                    probe / 1e9);
    } else {
      char share[64] = "|  |  |";
      if (m.test.decode)
        std::snprintf(share, sizeof share, "| %.1f | %.0f %% |", gbs, probe > 0 ? 1e11 * gbs / probe : 0.0);
      std::snprintf(line, sizeof line, "| %s | %s | %s | %s | %d | %s | %.1f | %.1f | %.1f %s\n", name.c_str(),
                    std::string(model.quantization()).c_str(), SizeText(model.weight_bytes()).c_str(), ActiveTarget(),
                    session.threads(), m.test.name.c_str(), m.median, m.p10, m.p90, share);
    }
    text += line;
  }
  return csv ? text
             : text + "\nRead bandwidth of memory in this run: " + SizeText(static_cast<uint64_t>(probe)) + "/s with " +
                   std::to_string(session.threads()) + " threads.\n";
}

std::string Json(const Session& session, const std::vector<Measured>& results, double probe, int64_t runs) {
  nlohmann::ordered_json json = NewJson(session.threads());
  json["results"] = nlohmann::ordered_json::array();
  for (const Measured& m : results) {
    nlohmann::ordered_json row = {{"test", m.test.name},   {"threads", session.threads()},
                                  {"median_ts", m.median}, {"p10_ts", m.p10},
                                  {"p90_ts", m.p90},       {"runs", runs},
                                  {"samples_ts", m.rates}};
    if (m.test.decode) row["bytes"] = session.model().decode_bytes();  // A token, without the cache.
    if (m.test.decode) row["gbs"] = static_cast<double>(session.model().decode_bytes()) * m.median / 1e9;
    row["probe_gbs"] = probe / 1e9;
    json["results"].push_back(row);
  }
  return JsonLine(json);
}

}  // namespace

int RunBench(const Options& options) {
  Result<std::vector<Test>> tests = ParseTests(options.tests);
  if (!tests.ok()) return Fail(tests.status());
  const int64_t runs = std::max<int64_t>(5, options.runs);
  size_t context = 0;
  for (const Test& test : *tests) context = std::max(context, test.depth + test.tokens);
  Result<OpenedModel> opened = OpenModel(options);
  if (!opened.ok()) return FailModel(opened.status());
  Result<std::unique_ptr<Session>> session = OpenSession(*opened, options, context);
  if (!session.ok()) return Fail(session.status());
  (*session)->set_cancel_flag(&InterruptFlag());

  double probe = ProbeReadBandwidth((*session)->threads(), options.probe_mb);
  std::vector<Measured> results;
  for (const Test& test : *tests) {
    Result<Measured> measured = Measure(**session, test, runs);
    if (!measured.ok()) return Fail(measured.status());
    results.push_back(*measured);
  }
  probe = std::max(probe, ProbeReadBandwidth((*session)->threads(), options.probe_mb));
  if (options.json || options.format == "json") return PrintAnswer(Json(**session, results, probe, runs));
  return PrintAnswer(Table(**session, results, probe, options.format == "csv"));
}

}  // namespace prenorm::tools
