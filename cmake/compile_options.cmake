# Flags of our own code only (dependencies keep theirs), and the switches for instrumented builds.
set(PRENORM_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined or thread")
option(PRENORM_FUZZ "Build the fuzzers for libFuzzer (clang); without it they are plain reproducers" OFF)
option(PRENORM_COVERAGE "Instrument for gcov" OFF)

add_library(prenorm_options INTERFACE)
target_compile_features(prenorm_options INTERFACE cxx_std_20)
# GCC fuses separate multiplications and additions by default; bits would then differ between compilers and targets.
target_compile_options(prenorm_options INTERFACE -ffp-contract=off -Wall -Wextra -Wshadow)

# Instrumentation reaches dependencies that are built along, so that everything in a binary agrees.
if(PRENORM_SANITIZE)
  add_compile_options(-fsanitize=${PRENORM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PRENORM_SANITIZE})
endif()
if(PRENORM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(PRENORM_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
