// Fetching files: resumable, checked, never half under their final name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "prenorm/status.h"

namespace prenorm::tools {

/// How a fetch is followed, and how it is ended: kCancelled then, and what has come is kept.
struct FetchWatch {
  /// Told which file comes and which share of the whole file is there; false ends the fetch. May be empty: a bar is
  /// shown on a terminal then.
  std::function<bool(const std::string& file, double share)> progress;
  /// Asked about once a second, also while nothing comes: true ends the fetch. May be empty.
  std::function<bool()> cancelled;

  /// Whether somebody wants the end: `cancelled`, or Ctrl-C where this process has InstallSignalHandlers().
  bool Ended() const;
};

/// What a file is called until it is complete and checked: its path and this.
inline constexpr const char* kPartSuffix = ".part";

/// What is fetched and where it goes.
struct Download {
  std::string url;
  std::string path;    ///< The file.
  uint64_t bytes = 0;  ///< 0: not known before.
  std::string sha256;  ///< In small hexadecimal digits; empty: not known before.
  std::string token;   ///< For the Authorization header; sent over https and to the first host only.
  FetchWatch watch = {};
};

/// Whether this build can fetch at all (it had libcurl and libcrypto).
bool CanDownload();

/// Fetches a file, going on with what an earlier call left; does nothing if the file is there. Of fetches into one
/// folder, by other processes too, one works and the others wait. Returns the SHA-256, empty if nothing was fetched.
/// Errors: kCancelled, kNotFound, kIo (network, disk, wrong hash: then what had come is thrown away), kUnsupported
/// without libcurl.
Result<std::string> FetchFile(const Download& download);

/// In small hexadecimal digits. Errors: kIo, kUnsupported without libcrypto.
Result<std::string> Sha256OfFile(const std::string& path);

/// A small text, e.g. a list of files. Errors as of FetchFile; kIo beyond 64 MB.
Result<std::string> FetchText(const std::string& url, const std::string& token, const FetchWatch& watch);

}  // namespace prenorm::tools
