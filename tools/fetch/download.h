// Fetching files: resumable, checked, never half under their final name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "prenorm/status.h"

namespace prenorm::tools {

/// Told which file comes and which share of it has come; false ends the fetch (kCancelled) and keeps that. May be
/// empty: a bar is shown on a terminal then.
using FetchProgress = std::function<bool(const std::string& file, double share)>;

/// What a file is called until it is complete and checked: its path and this.
inline constexpr const char* kPartSuffix = ".part";

/// What is fetched and where it goes.
struct Download {
  std::string url;
  std::string path;    ///< The file.
  uint64_t bytes = 0;  ///< 0: not known before.
  std::string sha256;  ///< In small hexadecimal digits; empty: not known before.
  std::string token;   ///< For the Authorization header; sent over https and to the first host only.
  FetchProgress progress = {};
};

/// Whether this build can fetch at all (it had libcurl and libcrypto).
bool CanDownload();

/// Fetches a file, going on with what an earlier call left; does nothing if the file is there. Shows progress on a
/// terminal; Ctrl-C ends it with kCancelled and keeps what has come. Returns the SHA-256, empty if nothing was fetched.
/// Errors: kNotFound, kIo (network, disk, wrong hash: then what had come is thrown away), kUnsupported without libcurl.
Result<std::string> FetchFile(const Download& download);

/// In small hexadecimal digits. Errors: kIo, kUnsupported without libcrypto.
Result<std::string> Sha256OfFile(const std::string& path);

/// A small text, e.g. a list of files. Errors as of FetchFile; kIo beyond 64 MB.
Result<std::string> FetchText(const std::string& url, const std::string& token);

}  // namespace prenorm::tools
