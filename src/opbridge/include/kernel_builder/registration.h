// Replaces the header that kernel-builder writes next to the sources of a project.  It registers operators under the
// name in a macro, and defines an empty Python module of that name, whose import registers them.
#ifndef OPBRIDGE_KERNEL_BUILDER_REGISTRATION_H
#define OPBRIDGE_KERNEL_BUILDER_REGISTRATION_H

#include <Python.h>

#define TORCH_LIBRARY_EXPAND(name, library) TORCH_LIBRARY(name, library)
#define TORCH_LIBRARY_IMPL_EXPAND(name, device, library) TORCH_LIBRARY_IMPL(name, device, library)
#define STABLE_TORCH_LIBRARY_EXPAND(name, library) STABLE_TORCH_LIBRARY(name, library)
#define STABLE_TORCH_LIBRARY_IMPL_EXPAND(name, device, library) STABLE_TORCH_LIBRARY_IMPL(name, device, library)

#define OPBRIDGE_TEXT_OF(name) #name
#define OPBRIDGE_EMPTY_MODULE(name)                                                                              \
  PyMODINIT_FUNC PyInit_##name() {                                                                               \
    static PyModuleDef module = {                                                                                \
        PyModuleDef_HEAD_INIT, OPBRIDGE_TEXT_OF(name), nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr}; \
    return PyModule_Create(&module);                                                                             \
  }
#define REGISTER_EXTENSION(name) OPBRIDGE_EMPTY_MODULE(name)

#endif
