// Names, operands, and the lists of cases.
#include "tools/norm_bench/norm_case.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "prenorm/types.h"

namespace prenorm::tools {
namespace {

constexpr size_t kPage = 4096;

bool IsBackward(prenorm_peer_op op) {
  return op == PRENORM_PEER_RMS_NORM_BACKWARD || op == PRENORM_PEER_LAYER_NORM_BACKWARD;
}

void FillNormal(void* to, size_t count, bool as_bf16, uint32_t seed, float mean, float deviation) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  // A block of values again and again: drawing every one would take longer than the measurement.
  std::vector<float> block(65536 + 17);
  for (float& v : block) v = normal(random);
  for (size_t i = 0; i < count; ++i) {
    const float v = block[i % block.size()];
    if (as_bf16) {
      static_cast<bf16*>(to)[i] = ToBf16(v);
    } else {
      static_cast<float*>(to)[i] = v;
    }
  }
}

NormCase FeatureMap(prenorm_peer_op op, size_t samples, size_t channels, size_t space, size_t groups, size_t threads) {
  NormCase c;
  c.op = op;
  c.rows = samples;
  c.cols = channels * space;
  c.threads = threads;
  c.channels = channels;
  c.groups = groups;
  return c;
}

}  // namespace

const char* CacheModeName(CacheMode mode) {
  switch (mode) {
    case CacheMode::kHot:
      return "hot";
    case CacheMode::kColdGain:
      return "cold-gain";
    case CacheMode::kDirtyX:
      return "dirty-x";
    case CacheMode::kStream:
      return "stream";
    case CacheMode::kAfterMatvec:
      return "after-matvec";
  }
  return "";
}

std::string NormCase::OpName() const {
  switch (op) {
    case PRENORM_PEER_RMS_NORM:
      return "rms_norm";
    case PRENORM_PEER_LAYER_NORM:
      return "layer_norm";
    case PRENORM_PEER_RESIDUAL_RMS_NORM:
      return "residual_rms_norm";
    case PRENORM_PEER_GROUP_NORM:
      return groups == channels ? "instance_norm" : "group_norm";
    case PRENORM_PEER_BATCH_NORM_TRAIN:
      return "batch_norm_train";
    case PRENORM_PEER_RMS_NORM_BACKWARD:
      return "rms_norm_backward";
    case PRENORM_PEER_LAYER_NORM_BACKWARD:
      return "layer_norm_backward";
    case PRENORM_PEER_RESIDUAL_LAYER_NORM:
      return "residual_layer_norm";
  }
  return "";
}

size_t NormCase::NecessaryBytes() const {
  size_t operands = 2;
  if (op == PRENORM_PEER_RESIDUAL_RMS_NORM) operands = 4;
  if (op == PRENORM_PEER_BATCH_NORM_TRAIN || IsBackward(op)) operands = 3;
  return operands * rows * cols * (bf16 ? 2 : 4);
}

std::vector<NormCase> GoalCases(size_t threads) {
  std::vector<NormCase> cases;
  const auto add = [&](prenorm_peer_op op, bool bf16, size_t rows, size_t cols, size_t t, CacheMode cache) {
    NormCase c;
    c.op = op, c.bf16 = bf16, c.rows = rows, c.cols = cols, c.threads = t, c.cache = cache;
    cases.push_back(c);
  };
  const prenorm_peer_op rms = PRENORM_PEER_RMS_NORM;
  const CacheMode hot = CacheMode::kHot;
  add(rms, false, 1, 4096, 1, hot);                                 // M1
  add(rms, false, 1, 4096, threads, hot);                           // M2
  add(rms, false, 1, 4096, threads, CacheMode::kAfterMatvec);       // M3
  for (size_t cols : {64, 128}) add(rms, false, 32, cols, 1, hot);  // M4
  for (size_t t : {size_t{1}, threads}) {                           // M5
    add(rms, false, 4096, 4096, t, CacheMode::kStream);
    add(rms, true, 4096, 4096, t, CacheMode::kStream);
    add(PRENORM_PEER_RESIDUAL_RMS_NORM, false, 4096, 4096, t, CacheMode::kStream);
  }
  for (size_t t : {size_t{1}, threads}) {  // M6
    for (size_t cols : {768, 1024, 4096}) add(PRENORM_PEER_LAYER_NORM, false, 512, cols, t, hot);
  }
  for (size_t channels : {256, 512}) {  // M7
    cases.push_back(FeatureMap(PRENORM_PEER_GROUP_NORM, 1, channels, 1024, 32, 1));
    cases.push_back(FeatureMap(PRENORM_PEER_GROUP_NORM, 1, channels, 1024, channels, 1));
  }
  cases.push_back(FeatureMap(PRENORM_PEER_BATCH_NORM_TRAIN, 32, 64, 3136, 64, 1));
  for (size_t cols : {768, 4096}) {  // M8
    add(PRENORM_PEER_RMS_NORM_BACKWARD, false, 512, cols, 1, hot);
    add(PRENORM_PEER_LAYER_NORM_BACKWARD, false, 512, cols, 1, hot);
  }
  return cases;
}

std::vector<NormCase> GridCases(size_t threads) {
  std::vector<NormCase> cases;
  for (prenorm_peer_op op : {PRENORM_PEER_RMS_NORM, PRENORM_PEER_LAYER_NORM, PRENORM_PEER_RESIDUAL_RMS_NORM}) {
    for (bool bf16 : {false, true}) {
      for (size_t t : {size_t{1}, threads}) {
        for (size_t rows : {1, 16, 512, 4096}) {
          for (size_t cols : {64, 576, 768, 2048, 4096, 8192, 16384}) {
            for (CacheMode cache : kCacheModes) {
              if (cache != CacheMode::kHot && rows != 1) continue;
              NormCase c;
              c.op = op, c.bf16 = bf16, c.rows = rows, c.cols = cols, c.threads = t, c.cache = cache;
              cases.push_back(c);
            }
          }
        }
        if (threads == 1) break;
      }
    }
  }
  return cases;
}

PageBuffer::PageBuffer(size_t bytes) {
  const size_t rounded = (bytes + kPage - 1) / kPage * kPage + kPage;
  data_.reset(std::aligned_alloc(kPage, rounded));
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get(), 0, rounded);
}

void PageBuffer::Free::operator()(void* p) const { std::free(p); }

Operands::Operands(const NormCase& c) {
  const size_t rows_bytes = c.rows * c.cols * (c.bf16 ? 2 : 4);
  const size_t affine = c.channels == 0 ? c.cols : c.channels;
  const auto make = [this](size_t bytes) {
    buffers.emplace_back(bytes);
    return buffers.back().data();
  };
  void* x = make(rows_bytes);
  FillNormal(x, c.rows * c.cols, c.bf16, 1, 0.0f, 1.0f);
  void* f = nullptr;
  if (c.op == PRENORM_PEER_RESIDUAL_RMS_NORM || IsBackward(c.op)) {
    f = make(rows_bytes);
    FillNormal(f, c.rows * c.cols, c.bf16, 2, 0.25f, IsBackward(c.op) ? 1.0f : 0.0f);
  }
  float* gain = static_cast<float*>(make(affine * 4));
  FillNormal(gain, affine, false, 3, 1.0f, 0.125f);
  view = {.op = c.op,
          .bf16 = c.bf16,
          .rows = c.rows,
          .cols = c.cols,
          .channels = c.channels,
          .groups = c.groups,
          .space = c.Space(),
          .threads = c.threads,
          .eps = 1e-5f,
          .x = x,
          .f = f,
          .gain = gain,
          .bias = static_cast<float*>(make(affine * 4)),
          .sum = c.op == PRENORM_PEER_RESIDUAL_RMS_NORM ? make(rows_bytes) : nullptr,
          .out = make(rows_bytes),
          .dgain = static_cast<float*>(make(affine * 4)),
          .dbias = static_cast<float*>(make(affine * 4)),
          .running_mean = static_cast<float*>(make(affine * 4)),
          .running_variance = static_cast<float*>(make(affine * 4))};
}

}  // namespace prenorm::tools
