# Flags of our own code only: dependencies keep theirs.
add_library(prenorm_options INTERFACE)
target_compile_features(prenorm_options INTERFACE cxx_std_20)
# GCC fuses separate multiplications and additions by default; bits would then differ between compilers and targets.
target_compile_options(prenorm_options INTERFACE -ffp-contract=off -Wall -Wextra -Wshadow)
