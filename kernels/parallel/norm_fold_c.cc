// C interface of folding.
#include "prenorm/norm_fold_c.h"

#include <vector>

#include "kernels/parallel/norm_c_util.h"
#include "prenorm/norm_fold.h"

using namespace prenorm;  // NOLINT(google-build-using-namespace): the functions below have C names.

namespace {

constexpr const char* kFold = "fold of a norm";

LinearMap MapOf(const prenorm_linear_map& map) {
  return {map.weight, map.bias, map.out_channels, map.in_channels, map.taps, map.groups, map.zero_padded != 0};
}

FrozenBatchNorm NormOf(const prenorm_frozen_batch_norm& norm) {
  return {norm.gain, norm.bias, norm.mean, norm.variance, norm.channels, norm.eps};
}

// Calls fold(map) with the map that `map` points to.
template <class Fold>
int OneMap(prenorm_linear_map* map, char* message, size_t message_size, const Fold& fold) {
  return Guarded(message, message_size, [&]() -> Status {
    Status present = CheckPresent(kFold, "map", map);
    if (!present.ok()) return present;
    LinearMap typed = MapOf(*map);
    return fold(&typed);
  });
}

// Calls fold(maps) with all of them.
template <class Fold>
int AllMaps(prenorm_linear_map* maps, size_t count, char* message, size_t message_size, const Fold& fold) {
  return Guarded(message, message_size, [&]() -> Status {
    if (count != 0) {
      Status present = CheckPresent(kFold, "maps", maps);
      if (!present.ok()) return present;
    }
    std::vector<LinearMap> typed;
    for (size_t i = 0; i < count; ++i) typed.push_back(MapOf(maps[i]));
    return fold(std::span<LinearMap>(typed));
  });
}

}  // namespace

int prenorm_fold_into_preceding(const prenorm_frozen_batch_norm* norm, prenorm_linear_map* map, char* message,
                                size_t message_size) {
  return OneMap(map, message, message_size, [&](LinearMap* typed) {
    Status present = CheckPresent(kFold, "norm", norm);
    return present.ok() ? FoldIntoPreceding(NormOf(*norm), typed) : present;
  });
}

int prenorm_fold_into_following(const prenorm_frozen_batch_norm* norm, prenorm_linear_map* maps, size_t count,
                                char* message, size_t message_size) {
  return AllMaps(maps, count, message, message_size, [&](std::span<LinearMap> typed) {
    Status present = CheckPresent(kFold, "norm", norm);
    return present.ok() ? FoldIntoFollowing(NormOf(*norm), typed) : present;
  });
}

int prenorm_fold_affine_into_following(const float* gain, const float* norm_bias, size_t channels, int one_plus_gain,
                                       prenorm_linear_map* maps, size_t count, char* message, size_t message_size) {
  return AllMaps(maps, count, message, message_size, [&](std::span<LinearMap> typed) {
    return FoldAffineIntoFollowing(gain, norm_bias, channels,
                                   one_plus_gain != 0 ? GainForm::kOnePlusGain : GainForm::kGain, typed);
  });
}

int prenorm_fold_layer_scale(const float* lambda, size_t channels, prenorm_linear_map* map, char* message,
                             size_t message_size) {
  return OneMap(map, message, message_size,
                [&](LinearMap* typed) { return FoldScaleIntoPreceding(lambda, channels, typed); });
}

int prenorm_fold_scale(float alpha, prenorm_linear_map* map, char* message, size_t message_size) {
  return OneMap(map, message, message_size, [&](LinearMap* typed) { return FoldScaleIntoPreceding(alpha, typed); });
}

int prenorm_centre_outputs(prenorm_linear_map* map, char* message, size_t message_size) {
  return OneMap(map, message, message_size, [](LinearMap* typed) { return CentreOutputs(typed); });
}

int prenorm_standardize_weights(const float* gain, float eps, prenorm_linear_map* map, char* message,
                                size_t message_size) {
  return OneMap(map, message, message_size, [&](LinearMap* typed) { return StandardizeWeights(gain, eps, typed); });
}
