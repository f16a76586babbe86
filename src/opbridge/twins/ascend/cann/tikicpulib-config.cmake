# Kernels that a project compiles by itself, to run them by ICPU_RUN_KF.

include(${CMAKE_CURRENT_LIST_DIR}/../../../../tikcpp/ascendc_kernel_cmake/opbridge.cmake)

foreach(target tikicpulib tikicpulib::${SOC_VERSION})
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} INTERFACE ${OPBRIDGE_ASCEND_HOME}/include)
    target_compile_options(${target} INTERFACE ${OPBRIDGE_ASCEND_FLAGS})
    target_compile_definitions(${target} INTERFACE ASCENDC_CPU_DEBUG=1)
    target_link_libraries(${target} INTERFACE ${OPBRIDGE_ASCEND_LIBRARY})
  endif()
endforeach()
set(tikicpulib_FOUND TRUE)
