// Forcing SIMD targets.
#include "prenorm/target.h"

#include <gtest/gtest.h>

namespace prenorm {
namespace {

TEST(TargetTest, ForcesEveryRunnableTargetAndReturnsToTheBest) {
  const std::vector<std::string> runnable = RunnableTargets();
  ASSERT_FALSE(runnable.empty());
  for (const std::string& name : runnable) {
    ASSERT_TRUE(ForceTarget(name).ok()) << name;
    EXPECT_EQ(ActiveTarget(), name);
    EXPECT_EQ(RunnableTargets(), runnable) << "forcing must not hide the other targets";
    EXPECT_EQ(ActiveTarget(), name);
  }
  ASSERT_TRUE(ForceTarget("").ok());
  EXPECT_EQ(ActiveTarget(), runnable.front());
}

TEST(TargetTest, RefusesAnUnknownNameAndListsTheCompiledOnes) {
  const Status status = ForceTarget("avx9");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find(CompiledTargets().front()), std::string::npos) << status.message();
}

}  // namespace
}  // namespace prenorm
