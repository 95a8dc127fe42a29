// Allocations of this process that can be made to fail: malloc and its kin, operator new with them, and mmap.
#pragma once

#include <cstdint>

namespace prenorm {

/// Process-wide, any thread. Memory that the OpenMP runtime and the dynamic linker ask for never fails:
/// they end the process.
struct FailingMalloc {
  /// From now on the n-th allocation fails, once; n = 0: none.
  static void FailAt(uint64_t n);
  /// Whether it has, since then.
  static bool Failed();
  /// Blocks and mappings that are held now, without those of the OpenMP runtime and the dynamic linker.
  static int64_t Held();
};

}  // namespace prenorm
