// The families of models: each fills a model's config, block description and weights from its file.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "runtime/model/binder.h"
#include "runtime/model/config_reader.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// One architecture. Adding a family is one file with such a function, one line in family.cc, one test.
struct Family {
  std::string_view architecture;                ///< As in general.architecture.
  std::array<std::string_view, 3> model_types;  ///< As in model_type of config.json; empty ones count nothing.
  Status (*build)(ModelParts& parts, Binder& binder, ConfigReader& reader);
};

/// The family of a file, by general.architecture or by model_type of its config.json.
/// Errors: kUnsupported with the name found and those that are supported.
Result<const Family*> FamilyOf(const TensorSource& source);

/// Reads config, block description and weights of parts.source. `binder` is of that source; `tokens` are those of the
/// tokenizer, of which no more may be than rows of the embedding matrix.
Status BuildDecoder(const Family& family, size_t tokens, ModelParts& parts, Binder& binder);

// The families, in files of their own.
Status BuildBert(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildCohere(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildCohere2(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildGemma(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildGemma2(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildGemma3(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildGpt2(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildGranite(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildLlama(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildOlmo2(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildPhi3(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildQwen2(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildQwen2Moe(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildQwen3(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildQwen3Moe(ModelParts& parts, Binder& binder, ConfigReader& reader);
Status BuildSmolLm3(ModelParts& parts, Binder& binder, ConfigReader& reader);

}  // namespace prenorm
