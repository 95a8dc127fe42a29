// Folding of norms and residual scales into weights: f64 arithmetic, one rounding per weight.
#include "prenorm/norm_fold.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace prenorm {
namespace {

Status Refusal(const std::string& what) { return {StatusCode::kInvalidArgument, "fold of a norm: " + what}; }

double Wide(const float* p, size_t i, double missing) { return p == nullptr ? missing : static_cast<double>(p[i]); }

size_t FanIn(const LinearMap& map) { return map.in_channels / map.groups * map.taps; }

Status CheckMap(const LinearMap* map) {
  if (map == nullptr || map->weight == nullptr) return Refusal("the weight is null");
  if (map->out_channels == 0 || map->in_channels == 0 || map->taps == 0) {
    return Refusal("weight of [" + std::to_string(map->out_channels) + ", " + std::to_string(map->in_channels) + ", " +
                   std::to_string(map->taps) + "] has an extent of 0");
  }
  if (map->groups == 0 || map->in_channels % map->groups != 0 || map->out_channels % map->groups != 0) {
    return Refusal(std::to_string(map->groups) + " groups do not divide " + std::to_string(map->in_channels) +
                   " input and " + std::to_string(map->out_channels) + " output channels");
  }
  return {};
}

Status CheckChannels(size_t channels, size_t expected, const char* side) {
  if (channels == expected) return {};
  return Refusal("the norm has " + std::to_string(channels) + " channels, the map " + std::to_string(expected) + " " +
                 side + " channels");
}

Status CheckNorm(const FrozenBatchNorm& norm) {
  if (norm.mean == nullptr || norm.variance == nullptr) return Refusal("mean or variance is null");
  for (size_t c = 0; c < norm.channels; ++c) {
    if (!(static_cast<double>(norm.variance[c]) + static_cast<double>(norm.eps) > 0.0)) {
      return Refusal("variance " + std::to_string(norm.variance[c]) + " of channel " + std::to_string(c) +
                     " plus eps " + std::to_string(norm.eps) + " is not above 0");
    }
  }
  return {};
}

double ScaleOf(const FrozenBatchNorm& norm, size_t c) {
  return Wide(norm.gain, c, 1.0) / std::sqrt(static_cast<double>(norm.variance[c]) + static_cast<double>(norm.eps));
}

double ShiftOf(const FrozenBatchNorm& norm, size_t c) {
  return Wide(norm.bias, c, 0.0) - static_cast<double>(norm.mean[c]) * ScaleOf(norm, c);
}

void Multiply(float* weights, size_t count, double scale) {
  for (size_t i = 0; i < count; ++i) weights[i] = static_cast<float>(static_cast<double>(weights[i]) * scale);
}

// map(x) becomes map(scale_of(i) * x + shift_of(i)), for maps that have been checked.
template <class ScaleOfChannel, class ShiftOfChannel>
void FoldInput(const ScaleOfChannel& scale_of, const ShiftOfChannel& shift_of, LinearMap* map) {
  const size_t group_inputs = map->in_channels / map->groups;
  const size_t group_outputs = map->out_channels / map->groups;
  for (size_t o = 0; o < map->out_channels; ++o) {
    double added = 0.0;
    for (size_t i = 0; i < group_inputs; ++i) {
      const size_t channel = o / group_outputs * group_inputs + i;
      float* taps = map->weight + (o * group_inputs + i) * map->taps;
      const double shift = shift_of(channel);
      for (size_t t = 0; t < map->taps; ++t) added += static_cast<double>(taps[t]) * shift;
      Multiply(taps, map->taps, scale_of(channel));
    }
    if (map->bias != nullptr) map->bias[o] = static_cast<float>(static_cast<double>(map->bias[o]) + added);
  }
}

// Whether `map` can take a shift of its input.
template <class ShiftOfChannel>
Status CheckShift(const ShiftOfChannel& shift_of, const LinearMap& map) {
  for (size_t c = 0; c < map.in_channels; ++c) {
    const double shift = shift_of(c);
    if (shift == 0.0) continue;
    if (map.zero_padded) {
      return {StatusCode::kUnsupported,
              "fold of a norm: the following convolution pads with zeros, and the norm shifts "
              "channel " +
                  std::to_string(c) + " by " + std::to_string(shift) +
                  ", which the padding would lack; leave this norm unfolded"};
    }
    if (map.bias == nullptr) {
      return Refusal("the norm shifts channel " + std::to_string(c) + " by " + std::to_string(shift) +
                     ", and the following map has no bias to take it; give one of " + std::to_string(map.out_channels) +
                     " zeros");
    }
  }
  return {};
}

template <class ScaleOfChannel, class ShiftOfChannel>
Status FoldInputs(size_t channels, const ScaleOfChannel& scale_of, const ShiftOfChannel& shift_of,
                  std::span<LinearMap> maps) {
  for (const LinearMap& map : maps) {
    Status status = CheckMap(&map);
    if (status.ok()) status = CheckChannels(channels, map.in_channels, "input");
    if (status.ok()) status = CheckShift(shift_of, map);
    if (!status.ok()) return status;
  }
  for (LinearMap& map : maps) FoldInput(scale_of, shift_of, &map);
  return {};
}

}  // namespace

Status FoldIntoPreceding(const FrozenBatchNorm& norm, LinearMap* map) {
  Status status = CheckMap(map);
  if (status.ok()) status = CheckChannels(norm.channels, map->out_channels, "output");
  if (status.ok()) status = CheckNorm(norm);
  if (status.ok() && map->bias == nullptr) {
    return Refusal("the preceding map has no bias; give one of " + std::to_string(map->out_channels) + " zeros");
  }
  if (!status.ok()) return status;
  const size_t fan_in = FanIn(*map);
  for (size_t o = 0; o < map->out_channels; ++o) {
    const double scale = ScaleOf(norm, o);
    Multiply(map->weight + o * fan_in, fan_in, scale);
    const double centred = static_cast<double>(map->bias[o]) - static_cast<double>(norm.mean[o]);
    map->bias[o] = static_cast<float>(centred * scale + Wide(norm.bias, o, 0.0));
  }
  return status;
}

Status FoldIntoFollowing(const FrozenBatchNorm& norm, std::span<LinearMap> maps) {
  const Status status = CheckNorm(norm);
  if (!status.ok()) return status;
  return FoldInputs(
      norm.channels, [&](size_t c) { return ScaleOf(norm, c); }, [&](size_t c) { return ShiftOf(norm, c); }, maps);
}

Status FoldAffineIntoFollowing(const float* gain, const float* norm_bias, size_t channels, GainForm gain_form,
                               std::span<LinearMap> maps) {
  const double one = gain != nullptr && gain_form == GainForm::kOnePlusGain ? 1.0 : 0.0;
  return FoldInputs(
      channels, [&](size_t c) { return one + Wide(gain, c, 1.0); }, [&](size_t c) { return Wide(norm_bias, c, 0.0); },
      maps);
}

Status FoldScaleIntoPreceding(const float* lambda, size_t channels, LinearMap* map) {
  Status status = CheckMap(map);
  if (status.ok()) status = CheckChannels(channels, map->out_channels, "output");
  if (status.ok() && lambda == nullptr) return Refusal("lambda is null");
  if (!status.ok()) return status;
  const size_t fan_in = FanIn(*map);
  for (size_t o = 0; o < map->out_channels; ++o) {
    Multiply(map->weight + o * fan_in, fan_in, static_cast<double>(lambda[o]));
    if (map->bias != nullptr) Multiply(map->bias + o, 1, static_cast<double>(lambda[o]));
  }
  return status;
}

Status FoldScaleIntoPreceding(float alpha, LinearMap* map) {
  Status status = CheckMap(map);
  if (!status.ok()) return status;
  Multiply(map->weight, map->out_channels * FanIn(*map), static_cast<double>(alpha));
  if (map->bias != nullptr) Multiply(map->bias, map->out_channels, static_cast<double>(alpha));
  return status;
}

Status CentreOutputs(LinearMap* map) {
  Status status = CheckMap(map);
  if (status.ok() && map->groups != 1) {
    status = Refusal(std::to_string(map->groups) + " groups: outputs of different inputs have no common mean");
  }
  if (!status.ok()) return status;
  const size_t fan_in = FanIn(*map);
  const auto centre = [&](float* first, size_t stride) {
    double sum = 0.0;
    for (size_t o = 0; o < map->out_channels; ++o) sum += static_cast<double>(first[o * stride]);
    const double mean = sum / static_cast<double>(map->out_channels);
    for (size_t o = 0; o < map->out_channels; ++o) {
      first[o * stride] = static_cast<float>(static_cast<double>(first[o * stride]) - mean);
    }
  };
  for (size_t i = 0; i < fan_in; ++i) centre(map->weight + i, fan_in);
  if (map->bias != nullptr) centre(map->bias, 1);
  return status;
}

Status StandardizeWeights(const float* gain, float eps, LinearMap* map) {
  Status status = CheckMap(map);
  if (status.ok() && !(eps >= 0.0f)) status = Refusal("eps is " + std::to_string(eps) + ", expected a number >= 0");
  if (!status.ok()) return status;
  const size_t fan_in = FanIn(*map);
  for (size_t o = 0; o < map->out_channels; ++o) {
    float* filter = map->weight + o * fan_in;
    double sum = 0.0;
    for (size_t i = 0; i < fan_in; ++i) sum += static_cast<double>(filter[i]);
    const double mean = sum / static_cast<double>(fan_in);
    double squares = 0.0;  // fan_in * variance
    for (size_t i = 0; i < fan_in; ++i) {
      const double distance = static_cast<double>(filter[i]) - mean;
      squares += distance * distance;
    }
    const double root = std::sqrt(std::max(squares, static_cast<double>(eps)));
    const double scale = root > 0.0 ? Wide(gain, o, 1.0) / root : 0.0;
    for (size_t i = 0; i < fan_in; ++i) {
      filter[i] = static_cast<float>((static_cast<double>(filter[i]) - mean) * scale);
    }
  }
  return status;
}

}  // namespace prenorm
