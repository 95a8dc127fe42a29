// Runs a fuzzer's function on the files named, so that a finding can be looked at with any compiler and debugger; and
// on damaged copies of them, the same ones each time.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

struct Damage {
  size_t cut = 0;              ///< Cuts at every multiple of so many bytes; 0: none.
  size_t flips = 0;            ///< Copies with one bit changed.
  size_t within = ~size_t{0};  ///< Only in so many bytes from the start.
};

void Run(const std::vector<uint8_t>& bytes, size_t size) { LLVMFuzzerTestOneInput(bytes.data(), size); }

void RunDamaged(std::vector<uint8_t> bytes, const Damage& damage) {
  size_t cuts = 0;
  for (size_t size = 0; damage.cut != 0 && size < bytes.size(); size += damage.cut, ++cuts) Run(bytes, size);
  std::mt19937_64 random(1);
  const size_t bits = std::min(bytes.size(), damage.within) * 8;
  const size_t flips = bits == 0 ? 0 : damage.flips;
  for (size_t i = 0; i < flips; ++i) {
    const uint64_t bit = random() % bits;
    const auto mask = static_cast<uint8_t>(1u << bit % 8);
    bytes[bit / 8] ^= mask;
    Run(bytes, bytes.size());
    bytes[bit / 8] ^= mask;
  }
  std::printf("  %zu cuts, %zu bits changed, no finding\n", cuts, flips);
}

}  // namespace

int main(int argc, char** argv) {
  Damage damage;
  bool any = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    size_t* const number = word == "--cut"      ? &damage.cut
                           : word == "--flips"  ? &damage.flips
                           : word == "--within" ? &damage.within
                                                : nullptr;
    if (number != nullptr && i + 1 < argc) {
      *number = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Run(bytes, bytes.size());
    std::printf("%s: %zu bytes, no finding\n", argv[i], bytes.size());
    RunDamaged(bytes, damage);
    any = true;
  }
  if (any) return 0;
  std::fprintf(stderr, "usage: %s [--cut BYTES] [--flips N] [--within BYTES] FILE...\n", argv[0]);
  return 2;
}
