#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace {
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "opbridge._core", nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
}

PyMODINIT_FUNC PyInit__core() { return PyModule_Create(&definition); }
