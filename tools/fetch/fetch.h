// From a model's name to its file, fetched where it is not there: for the command and for the Python package.
#pragma once

#include <functional>
#include <string>

#include "prenorm/status.h"
#include "tools/fetch/download.h"

namespace prenorm::tools {

struct FetchOptions {
  std::string sha256;                            ///< What the file of an address must have; empty: not known.
  std::function<void(const std::string&)> note;  ///< Gets what a user should know, a line at a time.
  FetchWatch watch;
};

/// Whether FetchModel may find something by that name: a name of the catalog, an address, or OWNER/NAME[:PART] of a
/// hub.
bool CanFetch(const std::string& name);

/// Fetches a model into the cache unless it is there, and returns its path. Checked by SHA-256: that of the catalog, of
/// the hub, or the one given. Errors: kNotFound, kIo (network, disk, wrong hash), kInvalidArgument for an address of no
/// model file and where several models match; kCancelled; kUnsupported in a build that cannot fetch, with the command
/// that does it instead.
Result<std::string> FetchModel(const std::string& name, const FetchOptions& options);

}  // namespace prenorm::tools
