// The list of supported architectures.
#include "runtime/model/families/family.h"

#include "prenorm/model.h"

namespace prenorm {
namespace {

constexpr Family kFamilies[] = {
    {"llama", BuildLlama},
};

}  // namespace

const Family* FindFamily(std::string_view architecture) {
  for (const Family& family : kFamilies) {
    if (family.architecture == architecture) return &family;
  }
  return nullptr;
}

std::vector<std::string_view> SupportedArchitectures() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.architecture);
  return names;
}

}  // namespace prenorm
