// The little that this extension needs to speak CPython's C API safely from C++.
#ifndef OPBRIDGE_NATIVE_CORE_PYTHON_H
#define OPBRIDGE_NATIVE_CORE_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
// After Python.h, which decides feature macros.
#include <cxxabi.h>
#include <structmember.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "../gil.h"

namespace opbridge {

// Thrown where a Python exception is already set.
struct PythonError {};

// Owns one reference or none; made, copied and destroyed under Python's lock.
class Ref {
 public:
  Ref() = default;
  static Ref take(PyObject* owned) { return Ref(owned); }
  static Ref copy(PyObject* borrowed) { return Ref(Py_XNewRef(borrowed)); }
  // Takes what a C API function returned, and goes on as an exception where that failed.
  static Ref checked(PyObject* owned) {
    if (!owned) throw PythonError{};
    return Ref(owned);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = std::exchange(object_, std::exchange(other.object_, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* owned) : object_(owned) {}
  PyObject* object_ = nullptr;
};

// Raises the class of opbridge.base.errors called `error`.
[[noreturn]] void raise(const char* error, const std::string& message);

// "torch.Tensor", or "int" for what is built in.
std::string type_name(PyObject* object);

std::string text_of(PyObject* unicode);

// Adds a type made from `spec` to the module; the module keeps it alive for as long as the process.
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec);

// Runs a body that may throw, as the C API wants it: null (or -1) with a Python exception set.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
#if defined(__GLIBCXX__)
  } catch (const abi::__forced_unwind&) {
    wait_for_the_end();
#endif
  }
  if constexpr (std::is_pointer_v<decltype(body())>)
    return nullptr;
  else
    return -1;
}

}  // namespace opbridge

#endif
