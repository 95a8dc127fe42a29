// Names, lists and forces the SIMD targets (include/prenorm/target.h).
#include "prenorm/target.h"

#include <strings.h>

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/target.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace prenorm {
namespace HWY_NAMESPACE {

int64_t ThisTarget() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace prenorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prenorm {
namespace {

HWY_EXPORT(ThisTarget);

// Highway numbers better targets lower.
std::vector<std::string> NamesOf(int64_t targets) {
  std::vector<std::string> names;
  for (; targets != 0; targets &= targets - 1) names.emplace_back(hwy::TargetName(targets & -targets));
  return names;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace

const char* ActiveTarget() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(ThisTarget)()); }

std::vector<std::string> CompiledTargets() { return NamesOf(HWY_TARGETS); }

std::vector<std::string> RunnableTargets() {
  const char* active = ActiveTarget();
  // SupportedTargets() answers with the forced target alone while one is forced.
  hwy::SetSupportedTargetsForTest(0);
  const int64_t runnable = hwy::SupportedTargets() & HWY_TARGETS;
  if (Status status = ForceTarget(active); !status.ok()) return {};
  return NamesOf(runnable);
}

Status ForceTarget(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  if (name.empty()) return {};
  for (int64_t targets = HWY_TARGETS; targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    const std::string_view candidate = hwy::TargetName(target);
    if (candidate.size() != name.size() || strncasecmp(candidate.data(), name.data(), name.size()) != 0) continue;
    if ((hwy::SupportedTargets() & target) == 0) {
      return {StatusCode::kUnsupported, "this CPU cannot run SIMD target " + std::string(candidate) +
                                            "\nrunnable targets: " + Joined(RunnableTargets())};
    }
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    return {};
  }
  return {StatusCode::kNotFound,
          "no SIMD target is named '" + std::string(name) + "'\ncompiled targets: " + Joined(CompiledTargets())};
}

}  // namespace prenorm
#endif  // HWY_ONCE
