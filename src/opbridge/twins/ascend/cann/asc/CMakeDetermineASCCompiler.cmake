# The language ASC is C++ for the host's compiler, behind opbridge's twin.

include(${CMAKE_CURRENT_LIST_DIR}/../../compiler/tikcpp/ascendc_kernel_cmake/opbridge.cmake)
set(CMAKE_ASC_COMPILER $ENV{CXX})
if(NOT CMAKE_ASC_COMPILER)
  find_program(CMAKE_ASC_COMPILER NAMES g++ clang++ REQUIRED)
endif()
set(CMAKE_ASC_COMPILER_ENV_VAR CXX)
configure_file(${CMAKE_CURRENT_LIST_DIR}/CMakeASCCompiler.cmake.in
  ${CMAKE_PLATFORM_INFO_DIR}/CMakeASCCompiler.cmake @ONLY)
