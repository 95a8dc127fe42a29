// Uses the installed library from outside: prints the SIMD target that the kernels run on, then forces one by name.
#include <cstdio>
#include <prenorm/target.h>

int main(int argc, char** argv) {
  std::printf("SIMD target: %s\n", prenorm::ActiveTarget());
  const prenorm::Status status = prenorm::ForceTarget(argc > 1 ? argv[1] : "");
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  return 0;
}
