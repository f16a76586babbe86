// NVRTC as far as the twin has it: CUDA C++ compiled while a program runs, by opbridge's own compiler.
#ifndef OPBRIDGE_TWIN_NVRTC_H
#define OPBRIDGE_TWIN_NVRTC_H
#define __NVRTC_H__  // how programs ask whether it is included

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
  NVRTC_ERROR_TIME_FILE_WRITE_FAILED = 12
} nvrtcResult;
typedef struct _nvrtcProgram* nvrtcProgram;

const char* nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcVersion(int* major, int* minor);
nvrtcResult nvrtcGetNumSupportedArchs(int* count);
nvrtcResult nvrtcGetSupportedArchs(int* architectures);

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int header_count,
                               const char* const* headers, const char* const* include_names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program);
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression);
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count, const char* const* options);
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** lowered);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log);
// One image serves as both, and is a text.
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* image);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image);

#ifdef __cplusplus
}

#include <cxxabi.h>
#include <stdlib.h>

#include <string>
#include <typeinfo>

// A type's name as a name expression has it.
inline nvrtcResult nvrtcGetTypeName(const std::type_info& type, std::string* name) {
  int status = 0;
  char* const made = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  if (made == nullptr) return NVRTC_ERROR_INTERNAL_ERROR;
  *name = made;
  free(made);
  return NVRTC_SUCCESS;
}
template <class T>
struct ob_twin_type_wrapper {};
template <class T>
nvrtcResult nvrtcGetTypeName(std::string* name) {
  // typeid() itself forgets references and const.
  const nvrtcResult result = nvrtcGetTypeName(typeid(ob_twin_type_wrapper<T>), name);
  if (result == NVRTC_SUCCESS) *name = name->substr(name->find('<') + 1, name->rfind('>') - name->find('<') - 1);
  return result;
}
#endif

#endif
