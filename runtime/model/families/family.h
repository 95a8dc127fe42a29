// The families of decoders: each fills a model's config, block description and weights from its file.
#pragma once

#include <string_view>
#include <vector>

#include "prenorm/status.h"
#include "runtime/model/binder.h"
#include "runtime/model/parts.h"

namespace prenorm {

/// One architecture. Adding a family is one file with such a function, one line in family.cc, one test.
struct Family {
  std::string_view architecture;  ///< As in general.architecture.
  Status (*build)(ModelParts& parts, Binder& binder);
};

/// Null if the architecture is not supported.
const Family* FindFamily(std::string_view architecture);

// The families, in files of their own.
Status BuildLlama(ModelParts& parts, Binder& binder);

}  // namespace prenorm
