#include "python.h"

namespace opbridge {

void raise(const char* error, const std::string& message) {
  Ref errors = Ref::checked(PyImport_ImportModule("opbridge.base.errors"));
  Ref type = Ref::checked(PyObject_GetAttrString(errors.get(), error));
  Ref text = Ref::checked(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  PyErr_SetObject(type.get(), text.get());
  throw PythonError{};
}

std::string text_of(PyObject* unicode) {
  Py_ssize_t size;
  const char* bytes = PyUnicode_AsUTF8AndSize(unicode, &size);
  if (!bytes) throw PythonError{};
  return std::string(bytes, static_cast<size_t>(size));
}

std::string type_name(PyObject* object) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  Ref module = Ref::checked(PyObject_GetAttrString(type, "__module__"));
  Ref name = Ref::checked(PyObject_GetAttrString(type, "__qualname__"));
  const std::string prefix = text_of(module.get());
  return prefix == "builtins" ? text_of(name.get()) : prefix + "." + text_of(name.get());
}

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec) {
  Ref type = Ref::checked(PyType_FromSpec(&spec));
  auto* result = reinterpret_cast<PyTypeObject*>(type.get());
  if (PyModule_AddType(module, result) < 0) throw PythonError{};
  // Never given back: the C++ side compares types with this pointer until the process ends.
  type.release();
  return result;
}

}  // namespace opbridge
