# Libraries of Ascend C kernels, compiled by the host's compiler behind opbridge's twin, for projects that include this
# file from an installed CANN.

include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/opbridge.cmake)

# ascendc_library(name STATIC|SHARED|OBJECT sources...)
function(ascendc_library name kind)
  set(headers ${CMAKE_BINARY_DIR}/include/${name})
  set(sources)
  foreach(source ${ARGN})
    get_filename_component(source ${source} ABSOLUTE)
    list(APPEND sources ${source})
  endforeach()
  set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
  # What a kernel is called with, hosts learn when the project is configured, and again when a source changes.
  execute_process(COMMAND ${OPBRIDGE_ASCEND_DECLARE} ${headers} ${sources} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "ascendc_library(${name}): the sources are no Ascend C, as said above")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})

  add_library(${name} ${kind} ${sources})
  set_target_properties(${name} PROPERTIES
    CXX_STANDARD 17
    CXX_STANDARD_REQUIRED ON
    POSITION_INDEPENDENT_CODE ON
    CXX_COMPILER_LAUNCHER "${OPBRIDGE_ASCEND_COMPILE}")
  target_include_directories(${name} PUBLIC ${headers})
  target_include_directories(${name} SYSTEM PUBLIC ${OPBRIDGE_ASCEND_HOME}/include)
  target_link_libraries(${name} PUBLIC ${OPBRIDGE_ASCEND_LIBRARY})
endfunction()

function(ascendc_include_directories name)
  target_include_directories(${name} ${ARGN})
endfunction()

function(ascendc_compile_definitions name)
  target_compile_definitions(${name} ${ARGN})
endfunction()

# Options are for the compiler of the NPU: only what every compiler knows is passed on.
function(ascendc_compile_options name)
  foreach(option ${ARGN})
    if(option MATCHES "^(PRIVATE|PUBLIC|INTERFACE)$")
      set(scope ${option})
    elseif(option MATCHES "^-(D|I|O|g|std=)")
      target_compile_options(${name} ${scope} ${option})
    endif()
  endforeach()
endfunction()
