# Finds what Prenorm builds on.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(SIMDJSON REQUIRED IMPORTED_TARGET simdjson)

if(DEFINED ENV{XDG_CACHE_HOME})
  set(prenorm_cache "$ENV{XDG_CACHE_HOME}")
else()
  set(prenorm_cache "$ENV{HOME}/.cache")
endif()
set(PRENORM_DEPS_DIR "${prenorm_cache}/prenorm/deps" CACHE PATH "Where fetched dependencies are kept")

set(HWY_ENABLE_TESTS OFF CACHE BOOL "" FORCE)
set(HWY_ENABLE_EXAMPLES OFF CACHE BOOL "" FORCE)
set(HWY_ENABLE_CONTRIB OFF CACHE BOOL "" FORCE)
set(HWY_ENABLE_INSTALL OFF CACHE BOOL "" FORCE)
add_subdirectory("${PRENORM_DEPS_DIR}/highway-1.2.0" "${CMAKE_BINARY_DIR}/highway" EXCLUDE_FROM_ALL)
# Without this, Cascade Lake and Ice Lake would run the AVX3 target, which has no VNNI.
target_compile_definitions(hwy PUBLIC HWY_WANT_AVX3_DL)
