// prenorm models fetch from a web server: broken transfers, servers without ranges, statuses, redirects, tokens.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/tools/http_server.h"
#include "tests/tools/run_command.h"

namespace prenorm {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A response that announces the whole body, and has of it what lies in [begin, end).
std::string Response(const std::string& status, const std::string& body, size_t begin = 0,
                     size_t end = std::string::npos) {
  std::string head =
      "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size() - begin);
  if (begin != 0) {
    head += "\r\nContent-Range: bytes " + std::to_string(begin) + "-" + std::to_string(body.size() - 1) + "/" +
            std::to_string(body.size());
  }
  return head + "\r\n\r\n" + body.substr(begin, end == std::string::npos ? end : end - begin);
}

class ModelsHttpTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Fetch("file:///none.gguf").err.find("without libcurl") != std::string::npos) GTEST_SKIP() << "without libcurl";
  }
  CommandResult Fetch(const std::string& what, const std::string& endpoint = "http://127.0.0.1:1") {
    return RunCommand({"models", "fetch", what},
                      {.environment = {"XDG_CACHE_HOME=" + folder_.path("cache"), "HF_ENDPOINT=" + endpoint,
                                       "HF_TOKEN=hf_secret", "no_proxy=127.0.0.1"}});
  }
  std::string InCache(const std::string& name) const { return folder_.path("cache/prenorm/models/" + name); }

  TemporaryFolder folder_;
  const std::string model_ = ReadFile(TinyModel());
};

TEST_F(ModelsHttpTest, ABrokenTransferGoesOnWhereItStopped) {
  const size_t half = model_.size() / 2;
  HttpServer server([&](const std::string& request) {
    if (request.find("Range: bytes=" + std::to_string(half) + "-") != std::string::npos) {
      return Response("206 Partial Content", model_, half);
    }
    return Response("200 OK", model_, 0, half);
  });
  const CommandResult broken = Fetch(server.url() + "/tiny.gguf");
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_NE(broken.err.find("run this again to go on"), std::string::npos) << broken.err;
  EXPECT_EQ(fs::file_size(InCache("tiny.gguf.part")), half);
  EXPECT_FALSE(fs::exists(InCache("tiny.gguf")));
  const CommandResult whole = Fetch(server.url() + "/tiny.gguf");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(ReadFile(InCache("tiny.gguf")), model_);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(ModelsHttpTest, WithoutRangesItStartsAgain) {
  HttpServer server([&](const std::string&) { return Response("200 OK", model_); });
  fs::create_directories(InCache(""));
  std::ofstream(InCache("tiny.gguf.part")) << "the beginning of something";
  const CommandResult result = Fetch(server.url() + "/tiny.gguf");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ReadFile(InCache("tiny.gguf")), model_);
}

TEST_F(ModelsHttpTest, StatusesAreSaid) {
  for (const auto& [line, said] : {std::pair<const char*, const char*>{"401 Unauthorized", "HF_TOKEN"},
                                   {"403 Forbidden", "HF_TOKEN"},
                                   {"404 Not Found", "There is no such file."},
                                   {"503 Service Unavailable", "HTTP status 503"}}) {
    HttpServer server([status = line](const std::string&) { return Response(status, "no"); });
    const CommandResult result = Fetch(server.url() + "/tiny.gguf");
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(InCache("tiny.gguf")));
    EXPECT_FALSE(fs::exists(InCache("tiny.gguf.part"))) << "nothing came";
  }
}

TEST_F(ModelsHttpTest, RedirectsLeadToHttpsOnly) {
  HttpServer elsewhere([&](const std::string&) { return Response("200 OK", model_); });
  HttpServer server([&](const std::string&) {
    return "HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: " + elsewhere.url() +
           "/tiny.gguf\r\n\r\n";
  });
  const CommandResult result = Fetch(server.url() + "/tiny.gguf");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("https://"), std::string::npos) << result.err;
  EXPECT_TRUE(elsewhere.requests().empty());
}

TEST_F(ModelsHttpTest, ATokenIsNeverSentInTheClear) {
  HttpServer hub([&](const std::string&) { return Response("404 Not Found", "no"); });
  EXPECT_EQ(Fetch("owner/name", hub.url()).exit_code, 1);
  ASSERT_EQ(hub.requests().size(), 1u);
  EXPECT_EQ(hub.requests()[0].find("hf_secret"), std::string::npos);
  EXPECT_NE(hub.requests()[0].find("GET /api/models/owner/name"), std::string::npos) << hub.requests()[0];
}

}  // namespace
}  // namespace prenorm
