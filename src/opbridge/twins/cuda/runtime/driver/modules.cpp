// The driver API's modules: images, whose kernels and variables are found by their symbols.
#include "modules.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "cudart/images.h"
#include "driver.h"

struct CUlinkState_st {
  std::string image;
};

namespace opbridge_twin {

namespace {

struct Modules {
  std::mutex guard;
  std::set<CUmodule> live;
};
Modules& modules() {
  static Modules* const one = new Modules;
  return *one;
}

// The module whose image is being opened, so that its kernels and variables enroll in it.
thread_local CUmodule opening = nullptr;

CUresult load(CUmodule* module, const char* image) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<CUmod_st>();
  opening = made.get();
  const CUresult error = open_image(image, made->library);
  opening = nullptr;
  if (error != CUDA_SUCCESS) return error;
  const std::lock_guard<std::mutex> hold(modules().guard);
  *module = *modules().live.insert(made.release()).first;
  return CUDA_SUCCESS;
}

CUresult load_file(CUmodule* module, const char* file) {
  std::string image;
  const CUresult error = read_image(file, image);
  return error != CUDA_SUCCESS ? error : load(module, image.c_str());
}

// Its memory stays, because its findings are reported when the process ends.
CUresult unload(CUmodule module) {
  const std::lock_guard<std::mutex> hold(modules().guard);
  return modules().live.erase(module) > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult find_function(CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Modules& all = modules();
  const std::lock_guard<std::mutex> hold(all.guard);
  if (all.live.count(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  const void* const address = dlsym(module->library, name);
  const auto kernel = module->kernels.find(address);
  if (kernel == module->kernels.end()) return CUDA_ERROR_NOT_FOUND;
  const auto made = module->functions.try_emplace(name, CUfunc_st{module, name, address, kernel->second});
  *function = &made.first->second;
  return CUDA_SUCCESS;
}

CUresult find_variable(CUdeviceptr* memory, size_t* bytes, CUmodule module, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard<std::mutex> hold(modules().guard);
  if (modules().live.count(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  const void* const symbol = dlsym(module->library, name);
  const auto found = std::find_if(module->variables.begin(), module->variables.end(), [=](const VariableOfImage& one) {
    return symbol != nullptr ? one.address == symbol : one.name == name;
  });
  if (found == module->variables.end()) return CUDA_ERROR_NOT_FOUND;
  if (memory != nullptr) *memory = reinterpret_cast<CUdeviceptr>(found->address);
  if (bytes != nullptr) *bytes = found->bytes;
  ob_twin_ask_for_symbol(found->address);
  return CUDA_SUCCESS;
}

// There is nothing left to compile, and so nothing to say.
void answer(unsigned count, const CUjit_option* options, void** values) {
  for (unsigned i = 0; i < count; ++i) {
    const bool is_log = options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER;
    if (is_log && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
    const bool is_size =
        options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    if (is_size || options[i] == CU_JIT_WALL_TIME) values[i] = nullptr;
  }
}

CUresult add(CUlinkState state, const char* data, size_t bytes) {
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!state->image.empty()) {
    fputs("opbridge CUDA twin: cuLinkAddData of a second image: the twin links images of one source alone\n", stderr);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  state->image.assign(data, strnlen(data, bytes));
  return CUDA_SUCCESS;
}

}  // namespace

bool is_known(CUfunction function) {
  if (function == nullptr) return false;
  const std::lock_guard<std::mutex> hold(modules().guard);
  return std::any_of(modules().live.begin(), modules().live.end(), [function](CUmodule module) {
    return std::any_of(module->functions.begin(), module->functions.end(),
                       [function](const auto& one) { return &one.second == function; });
  });
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

void ob_twin_enroll_function(const void* address, const ob_twin_function* function) {
  if (opening != nullptr) opening->kernels[address] = *function;
}

void ob_twin_enroll_variable(const char* name, void* address, size_t bytes) {
  if (opening != nullptr) opening->variables.push_back({name, address, bytes});
}

CUresult cuModuleLoad(CUmodule* module, const char* file) {
  OB_TWIN_DRIVER_CALL();
  return load_file(module, file);
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  OB_TWIN_DRIVER_CALL();
  return load(module, static_cast<const char*>(image));
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  OB_TWIN_DRIVER_CALL();
  answer(count, options, values);
  return load(module, static_cast<const char*>(image));
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }
CUresult cuModuleUnload(CUmodule module) {
  OB_TWIN_DRIVER_CALL();
  return unload(module);
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  OB_TWIN_DRIVER_CALL();
  return find_function(function, module, name);
}
CUresult cuModuleGetGlobal(CUdeviceptr* memory, size_t* bytes, CUmodule module, const char* name) {
  OB_TWIN_DRIVER_CALL();
  return find_variable(memory, bytes, module, name);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values, unsigned count,
                           CUlibraryOption*, void**, unsigned) {
  return cuModuleLoadDataEx(library, image, count, options, values);
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* options, void** values,
                               unsigned count, CUlibraryOption*, void**, unsigned) {
  OB_TWIN_DRIVER_CALL();
  answer(count, options, values);
  return load_file(library, file);
}
CUresult cuLibraryUnload(CUlibrary library) { return cuModuleUnload(library); }
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = library;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* memory, size_t* bytes, CUlibrary library, const char* name) {
  return cuModuleGetGlobal(memory, bytes, library, name);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = kernel;
  return is_known(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  OB_TWIN_DRIVER_CALL();
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  answer(count, options, values);
  *state = new CUlinkState_st;
  return CUDA_SUCCESS;
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType, void* data, size_t bytes, const char*, unsigned,
                       CUjit_option*, void**) {
  OB_TWIN_DRIVER_CALL();
  return add(state, static_cast<const char*>(data), bytes);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType, const char* file, unsigned, CUjit_option*, void**) {
  OB_TWIN_DRIVER_CALL();
  std::string image;
  const CUresult error = read_image(file, image);
  return error != CUDA_SUCCESS ? error : add(state, image.data(), image.size());
}
CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  OB_TWIN_DRIVER_CALL();
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *image = state->image.data();
  if (bytes != nullptr) *bytes = state->image.size() + 1;
  return CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState state) {
  delete state;
  return CUDA_SUCCESS;
}
