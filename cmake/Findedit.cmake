# Finds libedit (line editing in `prenorm chat`). Defines edit::edit.
find_path(edit_INCLUDE_DIR histedit.h)
find_library(edit_LIBRARY edit)
mark_as_advanced(edit_INCLUDE_DIR edit_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(edit REQUIRED_VARS edit_LIBRARY edit_INCLUDE_DIR)

if(edit_FOUND AND NOT TARGET edit::edit)
  add_library(edit::edit UNKNOWN IMPORTED)
  set_target_properties(edit::edit PROPERTIES
    IMPORTED_LOCATION "${edit_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${edit_INCLUDE_DIR}")
endif()
