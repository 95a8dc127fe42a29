// Transfers by libcurl; the hash grows with the file, so that nothing is read twice but what an earlier run left.
#include "tools/fetch/download.h"

#if PRENORM_HAVE_DOWNLOAD

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tools/common/interrupt.h"
#include "tools/common/progress_bar.h"
#include "tools/common/words.h"
#include "tools/fetch/sha256.h"

namespace prenorm::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxText = 64u << 20;

Status IoError(const std::string& what, const std::string& where, const std::string& action) {
  return Status(StatusCode::kIo, what + "\n" + where + "\n" + action);
}

Status Interrupted() { return {StatusCode::kCancelled, "Interrupted."}; }

// Where the bytes of a transfer go.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual bool Write(const char* data, size_t bytes) = 0;
};

class TextSink : public Sink {
 public:
  bool Write(const char* data, size_t bytes) override {
    if (text.size() + bytes > kMaxText) return false;
    text.append(data, bytes);
    return true;
  }
  std::string text;
};

// A file that is appended to, and the hash of all of it.
class PartSink : public Sink {
 public:
  ~PartSink() override {
    if (file_ != nullptr) std::fclose(file_);
  }

  /// Reads what is there already.
  Status Open(const std::string& path, const FetchWatch& watch) {
    path_ = path;
    file_ = std::fopen(path.c_str(), "a+be");
    if (file_ == nullptr)
      return IoError("A file cannot be written.", path + ": " + std::strerror(errno), "Check folder and rights.");
    std::rewind(file_);
    char buffer[1 << 16];
    while (const size_t got = std::fread(buffer, 1, sizeof buffer, file_)) {
      hash_.Update(buffer, got);
      bytes_ += got;
      if (watch.Ended()) return Interrupted();
    }
    return {};
  }
  Status Restart() {
    hash_ = Sha256();
    bytes_ = 0;
    if (std::fflush(file_) == 0 && ftruncate(fileno(file_), 0) == 0) return {};
    return IoError("A file cannot be emptied.", path_ + ": " + std::strerror(errno), "Remove it.");
  }
  bool Write(const char* data, size_t bytes) override {
    if (std::fwrite(data, 1, bytes, file_) != bytes) return false;
    hash_.Update(data, bytes);
    bytes_ += bytes;
    return true;
  }
  bool Flush() { return std::fflush(file_) == 0; }
  uint64_t bytes() const { return bytes_; }
  std::string Hash() { return hash_.Finish(); }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  Sha256 hash_;
  uint64_t bytes_ = 0;
};

struct Transfer {
  Sink& sink;
  const FetchWatch& watch;
  std::string name = "";  // Of the file, for its progress; empty: none is shown.
  uint64_t offset = 0;    // Bytes of it that were there before.
  std::optional<ProgressBar> bar = std::nullopt;
};

size_t OnData(char* data, size_t size, size_t count, void* user) {
  return static_cast<Transfer*>(user)->sink.Write(data, size * count) ? size * count : 0;
}

int OnProgress(void* user, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.watch.Ended()) return 1;
  if (total <= 0 || transfer.name.empty()) return 0;
  const auto before = static_cast<double>(transfer.offset), all = before + static_cast<double>(total);
  const double share = (before + static_cast<double>(now)) / all;
  if (transfer.watch.progress) return transfer.watch.progress(transfer.name, share) ? 0 : 1;
  if (!transfer.bar) transfer.bar.emplace("fetching " + transfer.name, all, "B", before / all);
  transfer.bar->Update(share);
  return 0;
}

struct Outcome {
  CURLcode code;
  long response;  // HTTP status, 0 where there is none.
};

Outcome Run(const std::string& url, const std::string& token, Transfer& transfer) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (initialized != CURLE_OK || curl == nullptr) return {CURLE_FAILED_INIT, 0};
  CURL* c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "https,http,file");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
  curl_easy_setopt(c, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS | CURLPROTO_HTTP | CURLPROTO_FILE));
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 10L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1000L);  // Bytes a second, for a minute: then nobody is there.
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "prenorm/" PRENORM_VERSION);
  // A libcurl that came from elsewhere, in a wheel for example, may look for certificates where this system has none.
  if (const char* certificates = std::getenv("SSL_CERT_FILE"); certificates != nullptr && *certificates != '\0') {
    curl_easy_setopt(c, CURLOPT_CAINFO, certificates);
  }
  curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.offset));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, OnData);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  if (!token.empty() && url.starts_with("https://")) {
    curl_easy_setopt(c, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, token.c_str());
  }
  Outcome outcome{curl_easy_perform(c), 0};
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &outcome.response);
  transfer.bar.reset();
  return outcome;
}

Status StatusOf(const Outcome& outcome, const std::string& url) {
  switch (outcome.code) {
    case CURLE_OK:
      return {};
    case CURLE_ABORTED_BY_CALLBACK:
      return Interrupted();
    case CURLE_WRITE_ERROR:
      return IoError("What came cannot be kept.", url, "Free some space and run this again to go on.");
    case CURLE_FILE_COULDNT_READ_FILE:
      return {StatusCode::kNotFound, "There is no such file.\n" + url + "\nCheck the address."};
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {StatusCode::kInvalidArgument,
              "An address of this kind cannot be fetched.\n" + url + "\nGive one that begins with https://."};
    case CURLE_HTTP_RETURNED_ERROR:
      break;
    default:
      return IoError("The transfer broke off.", url + ": " + curl_easy_strerror(outcome.code),
                     "Is there a network? What has come is kept; run this again to go on.");
  }
  const std::string where = url + ": HTTP status " + std::to_string(outcome.response);
  if (outcome.response == 401 || outcome.response == 403) {
    return IoError("The server asks who you are.", where,
                   "Set HF_TOKEN to a token that may read this model, and accept its licence there.");
  }
  if (outcome.response == 404) return {StatusCode::kNotFound, "There is no such file.\n" + where + "\nCheck the name."};
  return IoError("The server refuses.", where, "Try again later.");
}

// Serializes fetches into one folder, those of other processes too.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(open((folder / ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {}
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  /// Waits for others. A folder where the file cannot be opened, or a file system without locks, has none.
  Status Take(const FetchWatch& watch) const {
    while (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
      if (watch.Ended()) return Interrupted();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

Status CheckSpace(const fs::path& folder, uint64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= bytes) return {};
  return IoError("The model does not fit on the disk.",
                 folder.string() + ": needs " + SizeText(bytes) + ", free are " + SizeText(space.available),
                 "Free some space.");
}

Status Transmit(const Download& download, PartSink& part) {
  if (download.bytes != 0 && part.bytes() > download.bytes) {
    if (Status status = part.Restart(); !status.ok()) return status;
  }
  if (download.bytes != 0 && part.bytes() == download.bytes) return {};
  Transfer transfer{part, download.watch, fs::path(download.path).filename().string(), part.bytes()};
  Outcome outcome = Run(download.url, download.token, transfer);
  const bool cannot_resume =
      outcome.code == CURLE_RANGE_ERROR || outcome.code == CURLE_BAD_DOWNLOAD_RESUME || outcome.response == 416;
  if (transfer.offset > 0 && cannot_resume) {
    if (Status status = part.Restart(); !status.ok()) return status;
    transfer.offset = 0;
    outcome = Run(download.url, download.token, transfer);
  }
  return StatusOf(outcome, download.url);
}

}  // namespace

bool FetchWatch::Ended() const { return InterruptFlag() || (cancelled && cancelled()); }

bool CanDownload() { return true; }

Result<std::string> FetchFile(const Download& download) {
  const fs::path folder = fs::path(download.path).parent_path();
  std::error_code error;
  if (fs::exists(download.path, error)) return std::string();
  fs::create_directories(folder, error);
  const FolderLock lock(folder);
  if (Status status = lock.Take(download.watch); !status.ok()) return status;
  if (fs::exists(download.path, error)) return std::string();  // Another fetch was under way.

  const std::string part_path = download.path + kPartSuffix;
  std::string found;
  {
    PartSink part;
    if (Status status = part.Open(part_path, download.watch); !status.ok()) return status;
    const uint64_t missing = download.bytes - std::min(download.bytes, part.bytes());
    if (Status status = CheckSpace(folder, missing); !status.ok()) return status;
    if (Status status = Transmit(download, part); !status.ok()) {
      if (part.bytes() == 0) fs::remove(part_path, error);
      return status;
    }
    if (!part.Flush())
      return IoError("What came cannot be kept.", part_path + ": " + std::strerror(errno), "Free some space.");
    found = part.Hash();
  }
  if (!download.sha256.empty() && found != download.sha256) {
    fs::remove(part_path, error);
    return IoError("The file that came is not the one expected, and has been thrown away.",
                   download.url + ": SHA-256 expected " + download.sha256 + ", found " + found,
                   "Try again; if it stays so, do not trust the source.");
  }
  fs::rename(part_path, download.path, error);
  if (error)
    return IoError("A file cannot be renamed.", part_path + ": " + error.message(), "Check folder and rights.");
  return found;
}

Result<std::string> Sha256OfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(size_t{1} << 20);
  Sha256 hash;
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.Update(buffer.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.eof()) return hash.Finish();
  return IoError("A file cannot be read.", path + ": " + std::strerror(errno), "Check its rights.");
}

Result<std::string> FetchText(const std::string& url, const std::string& token, const FetchWatch& watch) {
  TextSink sink;
  Transfer transfer{sink, watch};
  const Outcome outcome = Run(url, token, transfer);
  if (Status status = StatusOf(outcome, url); !status.ok()) return status;
  return std::move(sink.text);
}

}  // namespace prenorm::tools

#else

namespace prenorm::tools {
namespace {

Status NotBuiltIn(const std::string& url, const std::string& path) {
  return {StatusCode::kUnsupported, "This prenorm was built without libcurl and cannot fetch.\n" + url +
                                        "\nFetch it with: curl -L -o " + path + " " + url};
}

}  // namespace

bool CanDownload() { return false; }
Result<std::string> FetchFile(const Download& download) { return NotBuiltIn(download.url, "'" + download.path + "'"); }
Result<std::string> Sha256OfFile(const std::string& path) {
  return Status(StatusCode::kUnsupported, "This prenorm was built without libcrypto and cannot check a file.\n" + path +
                                              "\nCheck it with: sha256sum '" + path + "'");
}
Result<std::string> FetchText(const std::string& url, const std::string&, const FetchWatch&) {
  return NotBuiltIn(url, "-");
}

}  // namespace prenorm::tools

#endif
