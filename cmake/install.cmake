# Install tree and package export: an outside project says find_package(prenorm) and links prenorm::shared (the C
# interface) or prenorm::static (all of it; prenorm::prenorm is another name), or asks pkg-config for `prenorm` or
# `prenorm-static`. What the static library needs in turn comes along.
include(CMakePackageConfigHelpers)
set(prenorm_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/prenorm")

install(TARGETS prenorm EXPORT prenormStaticTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(PRENORM_HWY_BUNDLED)
  install(TARGETS hwy EXPORT prenormStaticTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set(prenorm_pc_libs "-lprenorm_hwy")
else()
  set(prenorm_pc_requires "libhwy")
endif()
install(EXPORT prenormStaticTargets NAMESPACE prenorm:: DESTINATION "${prenorm_package_dir}")
if(TARGET prenorm_shared)
  install(TARGETS prenorm_shared EXPORT prenormSharedTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT prenormSharedTargets NAMESPACE prenorm:: DESTINATION "${prenorm_package_dir}")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/prenorm" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD-PARTY.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET prenorm_cli)
  install(TARGETS prenorm_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET prenorm_command_docs)
  set(PRENORM_ZSH_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING
    "Where zsh looks for completions; of a package of Debian share/zsh/vendor-completions")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/command-docs/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
  install(FILES "${PROJECT_BINARY_DIR}/command-docs/prenorm.bash" RENAME prenorm
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${PROJECT_BINARY_DIR}/command-docs/_prenorm"
    DESTINATION "${PRENORM_ZSH_DIR}")
  install(FILES "${PROJECT_BINARY_DIR}/command-docs/prenorm.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/prenormConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/prenormConfig.cmake" INSTALL_DESTINATION "${prenorm_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/prenormConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/prenormConfig.cmake"
  "${PROJECT_BINARY_DIR}/prenormConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindPCRE2.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/Findutf8proc.cmake"
  DESTINATION "${prenorm_package_dir}")

# Whoever links the static library links these too. Beside a shared one -lprenorm would find that.
foreach(name IN LISTS OpenMP_CXX_LIB_NAMES)
  string(APPEND prenorm_pc_libs " -l${name}")
endforeach()
file(RELATIVE_PATH prenorm_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(package prenorm prenorm-static)
  if(package STREQUAL "prenorm" AND NOT TARGET prenorm_shared)
    continue()
  endif()
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in" "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# A package for Debian and its relatives: cpack -G DEB in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME prenorm)
set(CPACK_PACKAGE_CONTACT "the authors of Prenorm <prenorm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Inference runtime for language models on CPUs")
set(CPACK_PACKAGE_DESCRIPTION "The command prenorm, its shared and static libraries with their headers, and what it is documented by.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libpcre2-dev, libutf8proc-dev, libsimdjson-dev")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
