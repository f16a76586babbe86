// Modules of the driver API, and the kernels in them.
#ifndef OPBRIDGE_TWIN_RUNTIME_DRIVER_MODULES_H
#define OPBRIDGE_TWIN_RUNTIME_DRIVER_MODULES_H

#include <cuda.h>
#include <opbridge_twin/runtime.h>

#include <map>
#include <string>
#include <vector>

struct CUfunc_st {
  CUmodule module;
  std::string name;
  const void* address;
  ob_twin_function function;
};

namespace opbridge_twin {

struct VariableOfImage {
  std::string name;
  void* address;
  size_t bytes;
};

}  // namespace opbridge_twin

struct CUmod_st {
  void* library = nullptr;
  std::map<const void*, ob_twin_function> kernels;  // by the addresses of their functions
  std::vector<opbridge_twin::VariableOfImage> variables;
  std::map<std::string, CUfunc_st> functions;  // that were asked for
};

namespace opbridge_twin {

// Whether it is one, of a module that is loaded.
bool is_known(CUfunction function);

}  // namespace opbridge_twin
#endif
