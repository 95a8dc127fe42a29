// What can run a case: Prenorm, the controls, and peers from shared objects.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "prenorm/status.h"
#include "tools/norm_bench/norm_case.h"

namespace prenorm::tools {

struct Runner {
  std::string name;
  std::function<void(size_t times)> run;
  prenorm_peer_op computes = PRENORM_PEER_RMS_NORM;
};

/// Prenorm's operator of a case.
Runner OwnRunner(const prenorm_peer_case& view);

/// Copies with the bytes of the case, by ordinary and by non-temporal stores; each moves half of NecessaryBytes().
std::vector<Runner> CopyRunners(const prenorm_peer_case& view, size_t necessary_bytes);

/// A loop with the loads and stores of RMSNorm and next to no arithmetic, for f32 rows on one thread.
Runner LoadsAndStoresRunner(const prenorm_peer_case& view);

/// A peer: a shared object with the functions of norm_peer.h.
class NormPeer {
 public:
  /// Errors: kNotFound where the file cannot be loaded, kInvalidArgument where it lacks a function.
  static Result<NormPeer> Load(const std::string& path);

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }

  /// The peer's runner of a case; without `run` where it has no such operation.
  Runner Prepare(const prenorm_peer_case& view) const;

 private:
  std::string name_, description_;
  decltype(&prenorm_peer_prepare) prepare_ = nullptr;
  decltype(&prenorm_peer_run) run_ = nullptr;
  decltype(&prenorm_peer_release) release_ = nullptr;
};

}  // namespace prenorm::tools
