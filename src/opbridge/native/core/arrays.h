// NumPy's C API, and what the operators ask of an array.
//
// Nothing here may run before `import_numpy`: importing opbridge must not import NumPy.
#ifndef OPBRIDGE_NATIVE_CORE_ARRAYS_H
#define OPBRIDGE_NATIVE_CORE_ARRAYS_H

#include <string>

#include "python.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL opbridge_numpy_api
#ifndef OPBRIDGE_DEFINES_NUMPY_API
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace opbridge {

void import_numpy();

// The code of abi.h for an element type; -1 where it has none.
int dtype_code(PyArray_Descr* descr);
inline int dtype_code(PyArrayObject* array) { return dtype_code(PyArray_DESCR(array)); }

// "float32", "datetime64[D]"
std::string dtype_text(PyArrayObject* array);
std::string shape_text(int ndim, const npy_intp* shape);

// Whether a kernel can be handed the array's memory as it lies, strides aside.
inline bool is_plain(PyArrayObject* array) { return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array); }
inline bool is_contiguous(PyArrayObject* array) { return PyArray_IS_C_CONTIGUOUS(array) && is_plain(array); }

// Whether every stride is a whole number of elements and no two indices of a dimension meet in one place.
bool has_element_strides(PyArrayObject* array, bool distinct);

// The same view of the same memory.
bool same_view(PyArrayObject* a, PyArrayObject* b);

// Whether the two may have a byte in common, by the ranges they span.
bool ranges_meet(PyArrayObject* a, PyArrayObject* b);

// Whether the two have an element in common; a hard case counts as one.
bool share_memory(PyArrayObject* a, PyArrayObject* b);

// A C-contiguous copy, aligned and in native byte order, as a plain ndarray.
Ref contiguous_copy(PyArrayObject* array);

// An uninitialised C-contiguous array. `like`, where not null, is an array of the same element type.
Ref new_array(int ndim, const npy_intp* shape, int code, PyArrayObject* like);

inline PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

}  // namespace opbridge

#endif
