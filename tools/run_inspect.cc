// prenorm inspect: what is in a model file, without loading it.
#include <algorithm>

#include "tools/commands.h"
#include "tools/common/answer.h"
#include "tools/fetch/catalog.h"
#include "tools/common/errors.h"
#include "tools/common/host.h"
#include "tools/inspect.h"

namespace prenorm::tools {

int RunInspect(const Options& options) {
  Result<std::string> path = FindModelFile(options.model);
  if (!path.ok()) return FailModel(path.status());
  InspectOptions inspect_options;
  inspect_options.context = static_cast<size_t>(std::max<int64_t>(0, options.context));
  if (options.cache == "f32") inspect_options.kv_type = DType::kF32;
  if (options.cache == "int8") inspect_options.kv_type = DType::kQ8_0;
  if (options.cache == "bf16") inspect_options.kv_type = DType::kBF16;
  Result<Inspection> inspection = Inspect(*path, inspect_options);
  if (!inspection.ok()) return FailModel(inspection.status());
  if (!options.json) return PrintAnswer(InspectTable(*inspection));
  nlohmann::ordered_json json = NewJson(1);
  json.update(nlohmann::ordered_json::parse(InspectJson(*inspection)));
  return PrintAnswer(JsonLine(json));
}

}  // namespace prenorm::tools
