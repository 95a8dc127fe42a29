# Highway (SIMD with dispatch at run time): the system's package where it is new enough, else the pinned source archive.
# Result: target `hwy`.
set(PRENORM_HWY_MIN_VERSION 1.2.0)
set(PRENORM_SYSTEM_HWY AUTO CACHE STRING "Use the system's Highway: AUTO (if >= ${PRENORM_HWY_MIN_VERSION}), ON or OFF")
set_property(CACHE PRENORM_SYSTEM_HWY PROPERTY STRINGS AUTO ON OFF)

if(TARGET hwy)
  set(prenorm_hwy_origin "the enclosing project's")
elseif(NOT PRENORM_SYSTEM_HWY STREQUAL "OFF")
  find_package(hwy ${PRENORM_HWY_MIN_VERSION} CONFIG QUIET)
  if(hwy_FOUND)
    add_library(hwy INTERFACE IMPORTED GLOBAL)
    target_link_libraries(hwy INTERFACE hwy::hwy)
    set(prenorm_hwy_origin "system ${hwy_VERSION}")
  elseif(PRENORM_SYSTEM_HWY STREQUAL "ON")
    message(FATAL_ERROR "PRENORM_SYSTEM_HWY=ON, but no Highway >= ${PRENORM_HWY_MIN_VERSION} was found: "
      "set hwy_DIR to the folder of its hwy-config.cmake, or leave the option at AUTO.")
  endif()
endif()

if(NOT TARGET hwy)
  # The script finds the archive in the cache or fetches it, checks it and prints its path.
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "PRENORM_DEPS_DIR=${PRENORM_DEPS_DIR}"
      bash "${CMAKE_CURRENT_LIST_DIR}/fetch_highway.sh"
    OUTPUT_VARIABLE prenorm_hwy_archive OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE prenorm_hwy_failed)
  if(prenorm_hwy_failed)
    message(FATAL_ERROR "Highway ${PRENORM_HWY_MIN_VERSION} is missing: see the lines above.")
  endif()
  set(prenorm_hwy_source "${PROJECT_BINARY_DIR}/deps/highway-1.2.0")
  if(NOT EXISTS "${prenorm_hwy_source}/CMakeLists.txt")
    file(ARCHIVE_EXTRACT INPUT "${prenorm_hwy_archive}" DESTINATION "${PROJECT_BINARY_DIR}/deps")
  endif()
  set(HWY_ENABLE_TESTS OFF CACHE INTERNAL "")
  set(HWY_ENABLE_EXAMPLES OFF CACHE INTERNAL "")
  set(HWY_ENABLE_CONTRIB OFF CACHE INTERNAL "")
  set(HWY_ENABLE_INSTALL OFF CACHE INTERNAL "")
  add_subdirectory("${prenorm_hwy_source}" "${PROJECT_BINARY_DIR}/deps/highway-build" EXCLUDE_FROM_ALL)
  # Installed beside our library under a name of its own, so that it never takes the place of a system's libhwy.
  set_target_properties(hwy PROPERTIES OUTPUT_NAME prenorm_hwy)
  set(PRENORM_HWY_BUNDLED TRUE)
  set(prenorm_hwy_origin "pinned archive 1.2.0")
endif()

# One target per vector width is what sanitizer and everyday builds need: on x86 a third of the compile time of all seven.
option(PRENORM_FEW_TARGETS
  "Compile SSE2, AVX2 and AVX3_SPR, or NEON and SVE2 only (for development; a release carries all targets)" OFF)
# CPUs with SSSE3 but without SSE4 date from 2006 and run the SSE2 target: an eighth less to compile.
set(prenorm_hwy_disabled HWY_SSSE3)
if(PRENORM_FEW_TARGETS)
  set(prenorm_hwy_disabled "(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL|HWY_AVX3_ZEN4|HWY_NEON|HWY_NEON_BF16|HWY_SVE|\
HWY_SVE_256|HWY_SVE2_128)")
endif()
# Without HWY_WANT_AVX3_DL Cascade Lake and Ice Lake would run the AVX3 target, which has no VNNI. Both definitions select
# targets in the headers only.
target_compile_definitions(hwy INTERFACE HWY_WANT_AVX3_DL "HWY_DISABLED_TARGETS=${prenorm_hwy_disabled}")
