# What Prenorm builds on. Optional parts are AUTO (taken when found), ON (an error when missing) or OFF.
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")

# prenorm_optional(OPTION "what it is for" PACKAGE [find_package arguments]): sets OPTION_FOUND in the caller.
function(prenorm_optional option purpose package)
  set(${option} AUTO CACHE STRING "${purpose}: AUTO, ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ${option} STREQUAL "OFF")
    find_package(${package} ${ARGN} QUIET)
    if(${option} STREQUAL "ON" AND NOT ${package}_FOUND)
      message(FATAL_ERROR "${option}=ON, but ${package} was not found (${purpose}).")
    endif()
  endif()
  set(${option}_FOUND "${${package}_FOUND}" PARENT_SCOPE)
endfunction()

if(DEFINED ENV{PRENORM_DEPS_DIR})
  set(prenorm_deps "$ENV{PRENORM_DEPS_DIR}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(prenorm_deps "$ENV{XDG_CACHE_HOME}/prenorm/deps")
else()
  set(prenorm_deps "$ENV{HOME}/.cache/prenorm/deps")
endif()
set(PRENORM_DEPS_DIR "${prenorm_deps}" CACHE PATH "Where fetched dependencies are kept (as environment variable too)")

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(PCRE2 REQUIRED)
find_package(utf8proc REQUIRED)
find_package(simdjson REQUIRED CONFIG)
include("${CMAKE_CURRENT_LIST_DIR}/highway.cmake")

# The command and what writes JSON.
if(PRENORM_BUILD_TOOLS)
  find_package(nlohmann_json REQUIRED CONFIG)
  find_package(CLI11 REQUIRED CONFIG)
  prenorm_optional(PRENORM_LIBEDIT "Line editing in chat" edit)
endif()

# oneDNN with the OpenMP runtime: two OpenMP runtimes in one process would fight for the cores.
prenorm_optional(PRENORM_ONEDNN "oneDNN >= 3, the peer of the benchmarks" dnnl 3 CONFIG
  HINTS "${PRENORM_DEPS_DIR}/onednn-3.2")
if(PRENORM_ONEDNN_FOUND)
  add_library(prenorm_onednn INTERFACE)
  target_link_libraries(prenorm_onednn INTERFACE DNNL::dnnl)
  target_compile_definitions(prenorm_onednn INTERFACE PRENORM_HAVE_ONEDNN=1)
endif()

if(PROJECT_IS_TOP_LEVEL)
  message(STATUS "Prenorm ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
  message(STATUS "  Highway      ${prenorm_hwy_origin}")
  message(STATUS "  oneDNN       ${PRENORM_ONEDNN}: ${dnnl_DIR}")
  message(STATUS "  line editing ${PRENORM_LIBEDIT}: ${edit_LIBRARY}")
  message(STATUS "  command ${PRENORM_BUILD_TOOLS}, tests ${PRENORM_BUILD_TESTS}, benchmarks ${PRENORM_BUILD_BENCH}")
endif()
