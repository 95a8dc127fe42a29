// What tests of prenorm generate share: it on the tiny model, its answer as JSON, and the ids of a text.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/run_command.h"

namespace prenorm {

using nlohmann::json;

inline constexpr const char* kPrompt = "Once there was a";

inline CommandResult Generate(std::vector<std::string> more, const CommandInput& input = {}) {
  std::vector<std::string> arguments = {"generate", TinyModel()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunCommand(arguments, input);
}

inline json GenerateJson(std::vector<std::string> more, const CommandInput& input = {}) {
  more.push_back("--json");
  const CommandResult result = Generate(std::move(more), input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}

inline std::vector<int> TokenizeIds(const std::string& text, std::vector<std::string> more = {}) {
  TemporaryFolder folder;
  std::vector<std::string> arguments = {"tokenize", TinyModel(), "-f", folder.Write("text", text), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return json::parse(RunCommand(arguments).out).at("ids").get<std::vector<int>>();
}

}  // namespace prenorm
