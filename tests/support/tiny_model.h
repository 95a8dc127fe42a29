// The tiny model of the tree, for tests of the runtime.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "prenorm/model.h"

namespace prenorm {

inline std::string TinyModelPath() { return PRENORM_SOURCE_DIR "/models/tiny/prenorm-tiny.gguf"; }

/// Loads it; the test fails with the loader's message if that does not work.
inline std::shared_ptr<const Model> LoadTinyModel(const LoadOptions& options = {}) {
  Result<std::shared_ptr<const Model>> model = Model::Load(TinyModelPath(), options);
  if (!model.ok()) {
    ADD_FAILURE() << model.status().message();
    return nullptr;
  }
  return *model;
}

}  // namespace prenorm
