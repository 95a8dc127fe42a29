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

// One test a target, so that the report of every run names what this machine leaves untested.
class EveryCompiledTargetTest : public testing::TestWithParam<std::string> {};

TEST_P(EveryCompiledTargetTest, Runs) {
  const Status status = ForceTarget(GetParam());
  if (!status.ok()) GTEST_SKIP() << status.message() << "\nkernels for " << GetParam() << " are compiled, not tested";
  EXPECT_EQ(ActiveTarget(), GetParam());
  ASSERT_TRUE(ForceTarget("").ok());
}

INSTANTIATE_TEST_SUITE_P(All, EveryCompiledTargetTest, testing::ValuesIn(CompiledTargets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace prenorm
