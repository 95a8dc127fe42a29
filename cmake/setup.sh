# shellcheck shell=bash disable=SC2034,SC2119,SC2120,SC2154  # variables and options go between this file and its callers
# Sourced by quickstart.sh and test.sh: packages, configuration and build. The caller sets $root, the tree.
# Everything is said on stderr, so that stdout stays free for answers and test results.

# shellcheck source=cmake/fetch.sh
. "$root/cmake/fetch.sh"

# What a build needs, as TOOL:PACKAGE (present if the tool is in the path) or PACKAGE, in Debian's names.
packages_build=(c++:g++ cmake:cmake ninja:ninja-build curl:curl python3:python3 pip3:python3-pip ca-certificates
  libpcre2-dev libutf8proc-dev libsimdjson-dev nlohmann-json3-dev libcli11-dev libedit-dev libcurl4-openssl-dev libssl-dev
  zlib1g-dev)
packages_test=(libgtest-dev pkg-config:pkg-config abidiff:abigail-tools)
packages_bench=(libbenchmark-dev)
packages_fuzz=(clang:clang libomp-dev)
packages_lint=(clang-tidy:clang-tidy cppcheck:cppcheck)
packages_qemu=(aarch64-linux-gnu-g++:g++-aarch64-linux-gnu riscv64-linux-gnu-g++:g++-riscv64-linux-gnu clang++-19:clang-19
  libomp-19-dev qemu-aarch64:qemu-user googletest)

# install_packages PACKAGE...: installs what is missing, after saying so; asks for root only then.
install_packages() {
  local entry missing=() sudo=()
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian or Ubuntu: nothing is installed; the build needs what Debian calls ${*#*:}"
    return
  fi
  for entry in "$@"; do
    case $entry in *:*) command -v "${entry%:*}" >/dev/null && continue ;; esac
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "${entry#*:}" 2>/dev/null)" = installed ] ||
      missing+=("${entry#*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "packages are missing, and there is no sudo to install them. As root, run
  apt-get update && apt-get install --no-install-recommends ${missing[*]}
and then this script again."
    sudo=(sudo)
  fi
  say "installing with apt-get: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get -qq update && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --yes --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "the packages could not be installed (is there a network?). As root, run
  apt-get update && apt-get install --no-install-recommends ${missing[*]}
and then this script again."
  fi
  rm -f "$log"
}

# build_dir: prints build/release of the tree, or a folder of the cache where that cannot be written.
build_dir() {
  local dir=$root/build/release
  if mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ] && { [ ! -e "$dir/CMakeCache.txt" ] || [ -w "$dir/CMakeCache.txt" ]; }; then
    printf '%s\n' "$dir"
  else
    printf '%s\n' "$prenorm_cache/build/$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)/release"
  fi
}

# configure [OPTION...]: configures $build for Release, afresh if the tree has moved.
configure() {
  local fresh=()
  mkdir -p "$build"
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt" || fresh=(--fresh)
  (cd "$root" && cmake "${fresh[@]}" --preset release -B "$build" "$@") >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log" >&2
    die "the configuration failed: see above, or $build/configure.log"
  }
  # A copy of the fetched archive stays with the tree, for its other users and for builds without network.
  if [ "$build" = "$root/build/release" ] && [ -d "$prenorm_deps" ]; then
    mkdir -p "$root/build/deps"
    find "$prenorm_deps" -maxdepth 1 -name '*.tar.gz' -exec cp -n -t "$root/build/deps" {} +
  fi
}

# compile [TARGET]: builds in $build; ninja's own progress line on a terminal, the log only on failure elsewhere.
compile() {
  local target=${1:+--target=$1}
  if [ -t 2 ]; then
    cmake --build "$build" ${target:+"$target"} >&2 || die "the build failed: see above"
  else
    cmake --build "$build" ${target:+"$target"} >"$build/build.log" 2>&1 || {
      grep -v '^\[[0-9/]*\] ' "$build/build.log" | tail -n 60 >&2
      die "the build failed: see above, or $build/build.log"
    }
  fi
}
