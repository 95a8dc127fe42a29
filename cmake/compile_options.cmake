# Flags of our own code only (dependencies keep theirs), and the switches for instrumented builds.
set(PRENORM_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined or thread")
option(PRENORM_FUZZ "Build the fuzzers for libFuzzer (clang); without it they are plain reproducers" OFF)
option(PRENORM_COVERAGE "Instrument for gcov" OFF)

add_library(prenorm_options INTERFACE)
target_compile_features(prenorm_options INTERFACE cxx_std_20)
# GCC fuses separate multiplications and additions by default; bits would then differ between compilers and targets.
target_compile_options(prenorm_options INTERFACE -ffp-contract=off -Wall -Wextra -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(prenorm_options INTERFACE -Wno-restrict)  # False alarms on string concatenation, GCC bug 105651.
endif()
if(PRENORM_SANITIZE MATCHES "thread")
  target_compile_definitions(prenorm_options INTERFACE PRENORM_STD_THREADS)  # The OpenMP runtime is not instrumented.
endif()

# Instrumentation reaches dependencies that are built along, so that everything in a binary agrees; whoever links an
# instrumented library from outside needs the same flags.
set(prenorm_instrumentation "")
if(PRENORM_SANITIZE)
  list(APPEND prenorm_instrumentation -fsanitize=${PRENORM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
endif()
if(PRENORM_COVERAGE)
  list(APPEND prenorm_instrumentation --coverage)
endif()
add_compile_options(${prenorm_instrumentation})
add_link_options(${prenorm_instrumentation})
list(JOIN prenorm_instrumentation " " prenorm_instrumentation)
if(PRENORM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
