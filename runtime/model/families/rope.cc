// Frequencies in f64, rounded once.
#include "runtime/model/families/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace prenorm {
namespace {

std::vector<double> Frequencies(const ModelConfig& config, float theta) {
  std::vector<double> frequencies(config.rope_dim / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.rope_dim);
    frequencies[i] = std::pow(static_cast<double>(theta), exponent);
  }
  return frequencies;
}

RopeTable Rounded(const std::vector<double>& frequencies, double magnitude = 1.0) {
  RopeTable table;
  table.inv_freq.assign(frequencies.begin(), frequencies.end());
  table.magnitude = static_cast<float>(magnitude);
  return table;
}

// Wavelengths beyond the original context shrink by the whole factor, short ones stay, those between are blended.
void ScaleLlama3(ConfigReader& reader, double factor, std::vector<double>& frequencies) {
  const double low = reader.Number("rope.scaling.low_freq_factor", /*positive=*/true);
  const double high = reader.Number("rope.scaling.high_freq_factor", /*positive=*/true);
  const double original = reader.Number("rope.scaling.original_context_length", /*positive=*/true);
  for (double& frequency : frequencies) {
    const double turns = original * frequency / (2.0 * std::numbers::pi);
    const double kept = high > low ? std::clamp((turns - low) / (high - low), 0.0, 1.0) : (turns > low ? 1.0 : 0.0);
    frequency = frequency * kept + frequency / factor * (1.0 - kept);
  }
}

// Returns the factor of cos and sin.
double ScaleYarn(ConfigReader& reader, const ModelConfig& config, double factor, std::vector<double>& frequencies) {
  const double original =
      reader.Number("rope.scaling.original_context_length", /*positive=*/true, static_cast<float>(config.max_seq_len));
  const double fast = reader.Number("rope.scaling.yarn_beta_fast", /*positive=*/true, 32.0f);
  const double slow = reader.Number("rope.scaling.yarn_beta_slow", /*positive=*/true, 1.0f);
  const auto dims = static_cast<double>(config.rope_dim);
  // Index of the frequency that turns `turns` times within the original context.
  const auto index_of = [&](double turns) {
    return dims * std::log(original / (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(static_cast<double>(config.rope_theta)));
  };
  const bool whole = reader.Flag("rope.scaling.truncate", true);
  double begin = index_of(fast), end = index_of(slow);
  if (whole) begin = std::floor(begin), end = std::ceil(end);
  begin = std::max(begin, 0.0);
  end = std::min(end, dims - 1.0);
  if (begin == end) end += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double scaled = std::clamp((static_cast<double>(i) - begin) / (end - begin), 0.0, 1.0);
    frequencies[i] = frequencies[i] / factor * scaled + frequencies[i] * (1.0 - scaled);
  }
  const double magnitude = factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
  // GGUF files hold a factor of the usual magnitude, config.json holds the magnitude.
  if (!reader.is_hf()) return magnitude * reader.Number("rope.scaling.attn_factor", /*positive=*/true, 1.0f);
  if (reader.Has("rope.scaling.mscale") && reader.Has("rope.scaling.mscale_all_dim") && factor > 1.0) {
    const auto of = [&](std::string_view key) {
      return 0.1 * static_cast<double>(reader.Number(key, /*positive=*/false)) * std::log(factor) + 1.0;
    };
    const double ratio = of("rope.scaling.mscale") / of("rope.scaling.mscale_all_dim");
    return reader.Number("rope.scaling.attention_factor", /*positive=*/true, static_cast<float>(ratio));
  }
  return reader.Number("rope.scaling.attention_factor", /*positive=*/true, static_cast<float>(magnitude));
}

// Each frequency has a divisor of its own, one list for contexts up to the original and one for longer ones (Ding et
// al. 2024). Only the short list is applied here.
RopeTable LongRope(ConfigReader& reader, const ModelConfig& config, Binder& binder, const std::vector<double>& plain) {
  const size_t half = plain.size();
  const auto list = [&](const char* key, const char* tensor) {
    std::vector<float> divisors =
        reader.is_hf() ? reader.Floats(std::string("rope.scaling.") + key) : binder.OptionalVector(tensor, half);
    if (divisors.size() != half) {
      reader.Fail(StatusCode::kBadModel, std::string(key) + " of longrope: expected " + std::to_string(half) +
                                             " divisors, found " + std::to_string(divisors.size()));
      divisors.assign(half, 1.0f);
    }
    return divisors;
  };
  const std::vector<float> of_short = list("short_factor", "rope_factors_short.weight");
  const std::vector<float> of_long = list("long_factor", "rope_factors_long.weight");
  const size_t original = reader.Size("rope.scaling.original_context_length", size_t{1} << 28, config.max_seq_len);
  const double longest = static_cast<double>(config.max_seq_len);
  const double factor = static_cast<double>(
      reader.Number("rope.scaling.factor", /*positive=*/true,
                    static_cast<float>(longest / static_cast<double>(std::max<size_t>(original, 1)))));
  const double usual =
      factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(static_cast<double>(original)));
  RopeTable table;
  table.magnitude = reader.Number(reader.is_hf() ? "rope.scaling.attention_factor" : "rope.scaling.attn_factor",
                                  /*positive=*/true, static_cast<float>(usual));
  table.original = original;
  for (size_t i = 0; i < half; ++i) {
    table.inv_freq.push_back(static_cast<float>(plain[i] / static_cast<double>(of_short[i])));
    table.long_inv_freq.push_back(static_cast<float>(plain[i] / static_cast<double>(of_long[i])));
  }
  return table;
}

bool IsFinite(const RopeTable& table) {
  const auto finite = [](float value) { return std::isfinite(value); };
  return std::all_of(table.inv_freq.begin(), table.inv_freq.end(), finite) &&
         std::all_of(table.long_inv_freq.begin(), table.long_inv_freq.end(), finite) && finite(table.magnitude);
}

}  // namespace

RopeTable PlainRope(const ModelConfig& config, float theta) { return Rounded(Frequencies(config, theta)); }

RopeTable ReadRope(ConfigReader& reader, const ModelConfig& config, Binder& binder) {
  std::vector<double> frequencies = Frequencies(config, config.rope_theta);
  double magnitude = 1.0;
  // GGUF files of models with two lists of divisors do not name the kind.
  for (const char* object : {"rope_scaling", "rope_parameters"}) {
    if (reader.is_hf() && reader.Has(object)) {
      reader.Fail(StatusCode::kBadModel, std::string("key ") + object + ": expected an object, found another type");
    }
  }
  const bool two_lists = !reader.is_hf() && binder.Has("rope_factors_long.weight");
  const std::string kind(reader.Text("rope.scaling.type", two_lists ? "longrope" : "none"));
  const auto factor = [&] { return static_cast<double>(reader.Number("rope.scaling.factor", /*positive=*/true)); };
  RopeTable table;
  if (kind == "longrope" || kind == "su") {  // The second is its first name.
    table = LongRope(reader, config, binder, frequencies);
  } else {
    if (kind == "linear") {
      const double divisor = factor();
      for (double& frequency : frequencies) frequency /= divisor;
    } else if (kind == "llama3") {
      ScaleLlama3(reader, factor(), frequencies);
    } else if (kind == "yarn") {
      magnitude = ScaleYarn(reader, config, factor(), frequencies);
    } else if (kind != "none" && kind != "default" && kind != "dynamic") {
      // "dynamic" changes nothing up to max_position_embeddings, and no session is longer.
      reader.Fail(StatusCode::kUnsupported,
                  "rope scaling of type '" + kind +
                      "' is not supported\nsupported: none, linear, dynamic, llama3, yarn, longrope");
    }
    if (!reader.status().ok()) return {};
    const std::vector<float> divisors = binder.OptionalVector("rope_freqs.weight", frequencies.size());
    for (size_t i = 0; i < divisors.size(); ++i) frequencies[i] /= static_cast<double>(divisors[i]);
    table = Rounded(frequencies, magnitude);
  }
  if (!reader.status().ok() || IsFinite(table)) return table;
  reader.Fail(StatusCode::kBadModel,
              "the rotary frequencies are not finite: rope.freq_base, scaling and rope_freqs "
              "do not fit together");
  return {};
}

}  // namespace prenorm
