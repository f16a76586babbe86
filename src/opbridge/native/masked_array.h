// NumPy's masked arrays, which no kernel can be handed: it would count what the mask hides, and the mask would be lost.
#ifndef OPBRIDGE_NATIVE_MASKED_ARRAY_H
#define OPBRIDGE_NATIVE_MASKED_ARRAY_H

#include <Python.h>

namespace opbridge {

// For objects that are arrays and no plain ones; no such array is there before its module is.
inline bool is_masked_array(PyObject* array) {
  PyObject* name = PyUnicode_FromString("numpy.ma");
  PyObject* module = name ? PyImport_GetModule(name) : nullptr;
  PyObject* type = module ? PyObject_GetAttrString(module, "MaskedArray") : nullptr;
  const int answer = type ? PyObject_IsInstance(array, type) : 0;
  if (!type || answer < 0) PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(module);
  Py_XDECREF(name);
  return answer > 0;
}

inline constexpr const char* kUnmask = "pass a value for the masked elements, x.filled(0), or all elements, x.data";

}  // namespace opbridge

#endif
