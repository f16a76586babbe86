#define OPBRIDGE_DEFINES_NUMPY_API
#include "arrays.h"

#include <opbridge/abi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace opbridge {
namespace {

// Half is the last type number that NumPy 1 and 2 share.
constexpr int kBuiltinTypes = NPY_HALF + 1;

// `long long` and `long` are both int64 here, so the table uses type numbers and not codes.
struct BuiltinCodes {
  int8_t code[kBuiltinTypes];
  BuiltinCodes() {
    std::fill(std::begin(code), std::end(code), int8_t{-1});
    code[NPY_BOOL] = OB_bool;
    for (int type : {NPY_BYTE, NPY_SHORT, NPY_INT, NPY_LONG, NPY_LONGLONG}) code[type] = integer(type, true);
    for (int type : {NPY_UBYTE, NPY_USHORT, NPY_UINT, NPY_ULONG, NPY_ULONGLONG}) code[type] = integer(type, false);
    code[NPY_HALF] = OB_float16;
    code[NPY_FLOAT] = OB_float32;
    code[NPY_DOUBLE] = OB_float64;
    code[NPY_CFLOAT] = OB_complex64;
    code[NPY_CDOUBLE] = OB_complex128;
  }
  static int8_t integer(int type, bool is_signed) {
    switch (type) {
      case NPY_BYTE:
      case NPY_UBYTE:
        return is_signed ? OB_int8 : OB_uint8;
      case NPY_SHORT:
      case NPY_USHORT:
        return is_signed ? OB_int16 : OB_uint16;
      case NPY_INT:
      case NPY_UINT:
        return is_signed ? OB_int32 : OB_uint32;
      case NPY_LONG:
      case NPY_ULONG:
        if (sizeof(long) == 4) return is_signed ? OB_int32 : OB_uint32;
        [[fallthrough]];
      default:
        return is_signed ? OB_int64 : OB_uint64;
    }
  }
};

const BuiltinCodes builtin;

int builtin_type(int code) {
  static constexpr int types[] = {NPY_BOOL,   NPY_UINT8, NPY_INT8,   NPY_UINT16, NPY_INT16,
                                  NPY_UINT32, NPY_INT32, NPY_UINT64, NPY_INT64,  NPY_HALF,
                                  NPY_NOTYPE, NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
  return types[code];
}

// NumPy has no bfloat16; ml_dtypes and others register a type of that name.
bool is_bfloat16(PyArray_Descr* descr) {
  const char* name = descr->typeobj->tp_name;
  const char* dot = std::strrchr(name, '.');
  return std::strcmp(dot ? dot + 1 : name, "bfloat16") == 0;
}

Ref bfloat16_descr(PyArrayObject* like) {
  if (like)
    return Ref::checked(reinterpret_cast<PyObject*>(PyArray_DescrNewByteorder(PyArray_DESCR(like), NPY_NATIVE)));
  Ref ml_dtypes = Ref::take(PyImport_ImportModule("ml_dtypes"));
  if (!ml_dtypes) {
    PyErr_Clear();
    raise("UnsupportedError", "NumPy has no bfloat16 of its own; pip install ml_dtypes to get one");
  }
  Ref type = Ref::checked(PyObject_GetAttrString(ml_dtypes.get(), "bfloat16"));
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(type.get(), &descr) != NPY_SUCCEED) throw PythonError{};
  return Ref::take(reinterpret_cast<PyObject*>(descr));
}

// The bytes from the first to one past the last that the array can reach; empty for an array without elements.
std::pair<const char*, const char*> range_of(PyArrayObject* array) {
  const char* begin = PyArray_BYTES(array);
  const char* end = begin;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const npy_intp size = PyArray_DIM(array, i);
    if (size == 0) return {begin, begin};
    const npy_intp reach = (size - 1) * PyArray_STRIDE(array, i);
    (reach < 0 ? begin : end) += reach;
  }
  return {begin, end + PyArray_ITEMSIZE(array)};
}

}  // namespace

void import_numpy() {
  if (!PyArray_API && _import_array() < 0) throw PythonError{};
}

int dtype_code(PyArray_Descr* descr) {
  const int type = descr->type_num;
  if (type >= 0 && type < kBuiltinTypes) return builtin.code[type];
  return type >= NPY_USERDEF && is_bfloat16(descr) ? int{OB_bfloat16} : -1;
}

std::string dtype_text(PyArrayObject* array) {
  return text_of(Ref::checked(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array)))).get());
}

std::string shape_text(int ndim, const npy_intp* shape) {
  std::string text = "[";
  for (int i = 0; i < ndim; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool has_element_strides(PyArrayObject* array, bool distinct) {
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const npy_intp stride = PyArray_STRIDE(array, i);
    if (stride % PyArray_ITEMSIZE(array) != 0) return false;
    if (distinct && stride == 0 && PyArray_DIM(array, i) > 1) return false;
  }
  return true;
}

bool same_view(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_BYTES(a) == PyArray_BYTES(b) && PyArray_NDIM(a) == PyArray_NDIM(b) &&
         PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a)) &&
         PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(b), PyArray_NDIM(a)) &&
         PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b));
}

bool ranges_meet(PyArrayObject* a, PyArrayObject* b) {
  const auto [a_begin, a_end] = range_of(a);
  const auto [b_begin, b_end] = range_of(b);
  return a_begin < b_end && b_begin < a_end;
}

bool share_memory(PyArrayObject* a, PyArrayObject* b) {
  if (!ranges_meet(a, b)) return false;
  Ref numpy = Ref::checked(PyImport_ImportModule("numpy"));
  // Interleaved views need an exact answer, which takes forever in the worst case; NumPy gives up after `max_work`.
  Ref answer = Ref::take(PyObject_CallMethod(numpy.get(), "shares_memory", "OOi", a, b, 10000));
  if (!answer) PyErr_Clear();
  return !answer || PyObject_IsTrue(answer.get());
}

Ref contiguous_copy(PyArrayObject* array) {
  PyArray_Descr* native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
  if (!native) throw PythonError{};
  constexpr int wanted =
      NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ENSUREARRAY;
  return Ref::checked(PyArray_FromArray(array, native, wanted));
}

Ref new_array(int ndim, const npy_intp* shape, int code, PyArrayObject* like) {
  if (code != OB_bfloat16) return Ref::checked(PyArray_SimpleNew(ndim, shape, builtin_type(code)));
  Ref descr = bfloat16_descr(like);
  return Ref::checked(PyArray_NewFromDescr(&PyArray_Type, reinterpret_cast<PyArray_Descr*>(descr.release()), ndim,
                                           shape, nullptr, nullptr, 0, nullptr));
}

}  // namespace opbridge
