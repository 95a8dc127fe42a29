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
  size_t edits = 0;            ///< Copies with up to eight parts removed, repeated, moved or overwritten.
  size_t cut = 0;              ///< Cuts at every multiple of so many bytes; 0: none.
  size_t flips = 0;            ///< Copies with one bit changed.
  size_t within = ~size_t{0};  ///< Only in so many bytes from the start.
};

void Run(const std::vector<uint8_t>& bytes, size_t size) { LLVMFuzzerTestOneInput(bytes.data(), size); }

// Removes, repeats or overwrites a short part, with another part of the same file or with one byte.
void Edit(std::mt19937_64& random, size_t within, std::vector<uint8_t>& bytes) {
  const size_t reach = std::min(bytes.size(), within);
  const auto at = [&] { return static_cast<std::ptrdiff_t>(random() % reach); };
  const std::ptrdiff_t begin = at();
  const auto size = static_cast<std::ptrdiff_t>(
      std::min<size_t>(size_t{1} << random() % 7, bytes.size() - static_cast<size_t>(begin)));
  const auto part = bytes.begin() + begin;
  const std::ptrdiff_t other = std::min(at(), static_cast<std::ptrdiff_t>(bytes.size()) - size);
  const std::vector<uint8_t> copy(bytes.begin() + other, bytes.begin() + other + size);
  switch (random() % 4) {
    case 0:
      bytes.erase(part, part + size);
      break;
    case 1:
      bytes.insert(part, copy.begin(), copy.end());
      break;
    case 2:
      std::copy(copy.begin(), copy.end(), part);
      break;
    default:
      std::fill(part, part + size, static_cast<uint8_t>(random()));
  }
}

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
  const std::vector<uint8_t> whole = bytes;
  for (size_t i = 0; i < damage.edits && !whole.empty(); ++i) {
    bytes = whole;
    for (uint64_t edits = 1 + random() % 8; edits != 0 && !bytes.empty(); --edits) Edit(random, damage.within, bytes);
    Run(bytes, bytes.size());
  }
  std::printf("  %zu cuts, %zu bits changed, %zu edits, no finding\n", cuts, flips, damage.edits);
}

}  // namespace

int main(int argc, char** argv) {
  Damage damage;
  bool any = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    size_t* const number = word == "--cut"      ? &damage.cut
                           : word == "--flips"  ? &damage.flips
                           : word == "--edits"  ? &damage.edits
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
  std::fprintf(stderr, "usage: %s [--cut BYTES] [--flips N] [--edits N] [--within BYTES] FILE...\n", argv[0]);
  return 2;
}
