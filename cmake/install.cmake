# Install tree and package export: an outside project says find_package(prenorm) and links prenorm::prenorm, or asks
# pkg-config for `prenorm`; what the static library needs in turn comes along.
include(CMakePackageConfigHelpers)
set(prenorm_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/prenorm")

install(TARGETS prenorm EXPORT prenormTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(PRENORM_HWY_BUNDLED)
  install(TARGETS hwy EXPORT prenormTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set(prenorm_pc_libs "-lprenorm_hwy")
else()
  set(prenorm_pc_requires "libhwy")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/prenorm" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET prenorm_cli)
  install(TARGETS prenorm_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(EXPORT prenormTargets NAMESPACE prenorm:: DESTINATION "${prenorm_package_dir}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/prenormConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/prenormConfig.cmake" INSTALL_DESTINATION "${prenorm_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/prenormConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/prenormConfig.cmake"
  "${PROJECT_BINARY_DIR}/prenormConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindPCRE2.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/Findutf8proc.cmake"
  DESTINATION "${prenorm_package_dir}")

# The library is static: whoever links it links these too.
foreach(name IN LISTS OpenMP_CXX_LIB_NAMES)
  string(APPEND prenorm_pc_libs " -l${name}")
endforeach()
file(RELATIVE_PATH prenorm_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/prenorm.pc.in" "${PROJECT_BINARY_DIR}/prenorm.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/prenorm.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD-PARTY.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
