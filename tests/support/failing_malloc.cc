// The definitions that a program's own calls, and those of the libraries it loads, reach before the C library's.
#include "tests/support/failing_malloc.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace prenorm {
namespace {

std::atomic<uint64_t> countdown{0};
std::atomic<bool> failed{false};
std::atomic<int64_t> held{0};
thread_local bool asking = false;  // dladdr may allocate.

bool MustNotFail(const void* caller) {
  asking = true;
  Dl_info info{};
  const bool found = dladdr(caller, &info) != 0 && info.dli_fname != nullptr;
  asking = false;
  return found && (std::strstr(info.dli_fname, "libgomp") != nullptr || std::strstr(info.dli_fname, "/ld-") != nullptr);
}

// Whether the allocation that `caller` asks for is the one to fail.
bool FailsNow(const void* caller) {
  if (countdown.load(std::memory_order_relaxed) == 0 || asking || MustNotFail(caller)) return false;
  uint64_t n = countdown.load();
  while (n != 0 && !countdown.compare_exchange_weak(n, n - 1)) {
  }
  if (n != 1) return false;
  failed = true;
  errno = ENOMEM;
  return true;
}

void* Counted(void* block) {
  if (block != nullptr) ++held;
  return block;
}

}  // namespace

void FailingMalloc::FailAt(uint64_t n) {
  failed = false;
  countdown = n;
}

bool FailingMalloc::Failed() { return failed; }
int64_t FailingMalloc::Held() { return held; }

}  // namespace prenorm

// The libraries must find these too.
#pragma GCC visibility push(default)

#define PRENORM_FAILS prenorm::FailsNow(__builtin_return_address(0))

extern "C" {

void* malloc(size_t bytes) { return PRENORM_FAILS ? nullptr : prenorm::Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) {
  return PRENORM_FAILS ? nullptr : prenorm::Counted(__libc_calloc(count, bytes));
}
void* realloc(void* block, size_t bytes) {
  if (PRENORM_FAILS) return nullptr;
  void* const moved = __libc_realloc(block, bytes);
  return block == nullptr ? prenorm::Counted(moved) : moved;
}
void* memalign(size_t alignment, size_t bytes) {
  return PRENORM_FAILS ? nullptr : prenorm::Counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return PRENORM_FAILS ? nullptr : prenorm::Counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  void* const made = PRENORM_FAILS ? nullptr : prenorm::Counted(__libc_memalign(alignment, bytes));
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
void free(void* block) {
  if (block != nullptr) --prenorm::held;
  __libc_free(block);
}

void* mmap(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (PRENORM_FAILS) return MAP_FAILED;
  void* const made = reinterpret_cast<void*>(syscall(SYS_mmap, place, bytes, protection, flags, file, offset));
  if (made != MAP_FAILED && (flags & MAP_FIXED) == 0) ++prenorm::held;  // Else it lies in one that is held already.
  return made;
}
int munmap(void* place, size_t bytes) {
  const int result = static_cast<int>(syscall(SYS_munmap, place, bytes));
  if (result == 0) --prenorm::held;
  return result;
}

}  // extern "C"

#pragma GCC visibility pop
