#include "attributes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "arrays.h"

namespace opbridge {
namespace {

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::Tensor:
      return "Tensor";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::String:
      return "str";
    case Kind::Dtype:
      return "ScalarType";
    case Kind::Scalar:
      return "Scalar";
    default:
      return "something NumPy has not";
  }
}

size_t element_size(Kind kind) { return kind == Kind::Bool ? sizeof(uint8_t) : sizeof(int64_t); }

// Room for a list of `count`, which the caller fills with `store`.
ob_arg new_list(Kind kind, size_t count, ScratchArena& memory) {
  if (count > INT32_MAX) throw std::bad_alloc();
  ob_arg list{list_kind(kind), static_cast<int32_t>(count), {}};
  list.v.s = static_cast<const char*>(memory.take(count * element_size(kind)));
  if (!list.v.s) throw std::bad_alloc();
  return list;
}

void store(ob_arg& list, size_t index, const ob_arg& element) {
  switch (list.kind) {
    case OB_ARG_BOOLS:
      const_cast<uint8_t*>(list.v.bools)[index] = static_cast<uint8_t>(element.v.i);
      break;
    case OB_ARG_FLOATS:
      const_cast<double*>(list.v.floats)[index] = element.v.d;
      break;
    default:
      const_cast<int64_t*>(list.v.ints)[index] = element.v.i;
  }
}

ob_arg integer(int32_t kind, int64_t value) {
  ob_arg arg{kind, 0, {}};
  arg.v.i = value;
  return arg;
}

ob_arg real(double value) {
  ob_arg arg{OB_ARG_FLOAT, 0, {}};
  arg.v.d = value;
  return arg;
}

// The code of a NumPy scalar's type, ml_dtypes' included; -1 for everything else.
int scalar_code(PyObject* value) {
  if (!PyArray_IsScalar(value, Generic)) return -1;
  Ref descr = Ref::checked(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(value)));
  return dtype_code(reinterpret_cast<PyArray_Descr*>(descr.get()));
}

bool is_complex(int code) { return code == OB_complex64 || code == OB_complex128; }
bool is_real(int code) { return code >= OB_float16 && !is_complex(code); }

// Reads one value of one call; `refused` is where every kind of wrong value ends.
class Reader {
 public:
  Reader(const OpPlan& op, const ArgPlan& arg) : op_(op), arg_(arg) {}

  ob_arg read(PyObject* value) const {
    switch (arg_.kind) {
      case Kind::Bool:
        return integer(OB_ARG_BOOL, boolean(value));
      case Kind::Int:
        return integer(OB_ARG_INT, whole(value));
      case Kind::Float:
        return real(number(value));
      case Kind::Scalar:
        return scalar(value);
      case Kind::String:
        return string(value);
      default:
        return integer(OB_ARG_DTYPE, dtype(value));
    }
  }

  [[noreturn]] void refused(PyObject* value, const char* next = "") const {
    PyErr_Clear();
    refuse(op_, arg_, type_text(arg_), describe(value), next);
  }

 private:
  static std::string describe(PyObject* value) {
    Ref repr = Ref::take(PyObject_Repr(value));
    if (!repr) PyErr_Clear();
    const std::string text = repr ? text_of(repr.get()) : "";
    return type_name(value) + (text.empty() || text.size() > 60 ? "" : " " + text);
  }

  bool boolean(PyObject* value) const {
    if (value == Py_True) return true;
    if (value == Py_False) return false;
    if (!PyLong_Check(value) && scalar_code(value) != OB_bool) refused(value, "pass True or False");
    return PyObject_IsTrue(value);
  }

  int64_t whole(PyObject* value) const {
    if (scalar_code(value) == OB_bool) return PyObject_IsTrue(value);
    Ref index = Ref::take(PyNumber_Index(value));
    if (!index) refused(value, PyFloat_Check(value) ? "write int(...) if dropping the fraction is meant" : "");
    int overflow;
    const long long result = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow) refused(value, "an int has 64 bits");
    return result;
  }

  double number(PyObject* value) const {
    if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value);
    if (!PyFloat_Check(value) && !PyLong_Check(value)) {
      const int code = scalar_code(value);
      if (code < 0 || is_complex(code)) refused(value, PyArray_Check(value) ? "write float(...)" : "");
    }
    const double result = PyFloat_AsDouble(value);
    if (result == -1.0 && PyErr_Occurred()) refused(value, "it is too large for a float");
    return result;
  }

  ob_arg scalar(PyObject* value) const {
    if (PyBool_Check(value)) return integer(OB_ARG_BOOL, value == Py_True);
    if (PyLong_Check(value)) return integer(OB_ARG_INT, whole(value));
    if (PyFloat_Check(value)) return real(number(value));
    const int code = scalar_code(value);
    if (PyComplex_Check(value) || is_complex(code))
      refused(value, "complex scalars are not supported; pass two floats");
    if (code == OB_bool) return integer(OB_ARG_BOOL, boolean(value));
    return is_real(code) ? real(number(value)) : integer(OB_ARG_INT, whole(value));
  }

  ob_arg string(PyObject* value) const {
    if (!PyUnicode_Check(value)) refused(value);
    Py_ssize_t size;
    const char* bytes = PyUnicode_AsUTF8AndSize(value, &size);
    if (!bytes || size > INT32_MAX) refused(value, "it must be text that UTF-8 can hold");
    ob_arg arg{OB_ARG_STRING, static_cast<int32_t>(size), {}};
    arg.v.s = bytes;
    return arg;
  }

  int dtype(PyObject* value) const {
    constexpr const char* next = "pass a NumPy dtype such as np.float32, or its name";
    if (PyUnicode_Check(value)) {
      const std::string name = text_of(value);
      for (int code = 0; code < OB_DTYPE_COUNT; ++code)
        if (name == dtype_name(code)) return code;
    } else if (!PyType_Check(value) && !PyArray_DescrCheck(value)) {
      refused(value, next);
    }
    PyArray_Descr* descr = nullptr;
    if (PyArray_DescrConverter(value, &descr) != NPY_SUCCEED) refused(value, next);
    Ref owned = Ref::take(reinterpret_cast<PyObject*>(descr));
    const int code = dtype_code(descr);
    if (code < 0) refused(value, next);
    return code;
  }

  const OpPlan& op_;
  const ArgPlan& arg_;
};

ob_arg read_list(const Reader& reader, const ArgPlan& arg, PyObject* value, ScratchArena& memory) {
  if (!PySequence_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value)) {
    if (arg.list_size < 0) reader.refused(value, "pass a list");
    const ob_arg element = reader.read(value);
    ob_arg list = new_list(arg.kind, static_cast<size_t>(arg.list_size), memory);
    for (int32_t i = 0; i < list.count; ++i) store(list, i, element);
    return list;
  }
  Ref items = Ref::take(PySequence_Fast(value, ""));
  if (!items) reader.refused(value, "pass a list");
  ob_arg list = new_list(arg.kind, static_cast<size_t>(PySequence_Fast_GET_SIZE(items.get())), memory);
  // Reading an item may run Python code that changes a list; the size is looked at again each time.
  for (int32_t i = 0; i < list.count; ++i) {
    if (i >= PySequence_Fast_GET_SIZE(items.get())) reader.refused(value, "it changed while it was read");
    Ref item = Ref::copy(PySequence_Fast_GET_ITEM(items.get(), i));
    store(list, i, reader.read(item.get()));
  }
  return list;
}

ob_arg read_rows(const Reader& reader, const ArgPlan& arg, PyObject* value, ScratchArena& memory) {
  const bool is_text = PyUnicode_Check(value) || PyBytes_Check(value);
  Ref rows = is_text ? Ref() : Ref::take(PySequence_Tuple(value));
  if (!rows) reader.refused(value, "pass a list of lists");
  std::vector<int64_t> lengths, values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows.get()); ++i) {
    const ob_arg row = read_list(reader, arg, PyTuple_GET_ITEM(rows.get(), i), memory);
    lengths.push_back(row.count);
    values.insert(values.end(), row.v.ints, row.v.ints + row.count);
  }
  const size_t words = 1 + lengths.size() + values.size();
  auto* encoded = static_cast<int64_t*>(memory.take(words * sizeof(int64_t)));
  if (!encoded || words > INT32_MAX) throw std::bad_alloc();
  encoded[0] = static_cast<int64_t>(lengths.size());
  std::copy(values.begin(), values.end(), std::copy(lengths.begin(), lengths.end(), encoded + 1));
  ob_arg result{arg.kind == Kind::Int ? OB_ARG_INT_ROWS : OB_ARG_FLOAT_ROWS, static_cast<int32_t>(words), {}};
  result.v.ints = encoded;
  return result;
}

ob_arg constant(const Constant& value, Kind kind) {
  switch (value.tag) {
    case ConstantTag::None:
      return ob_arg{OB_ARG_NONE, 0, {}};
    case ConstantTag::Bool:
      return kind == Kind::Float ? real(value.integer)
                                 : integer(kind == Kind::Int ? OB_ARG_INT : OB_ARG_BOOL, value.integer);
    case ConstantTag::Int:
      return kind == Kind::Float ? real(static_cast<double>(value.integer)) : integer(OB_ARG_INT, value.integer);
    case ConstantTag::Float:
      return real(value.real);
    case ConstantTag::Dtype:
      return integer(OB_ARG_DTYPE, value.integer);
    default:
      break;
  }
  ob_arg text{OB_ARG_STRING, static_cast<int32_t>(value.text.size()), {}};
  text.v.s = value.text.c_str();
  return text;
}

}  // namespace

int32_t list_kind(Kind kind) {
  switch (kind) {
    case Kind::Bool:
      return OB_ARG_BOOLS;
    case Kind::Float:
      return OB_ARG_FLOATS;
    default:
      return OB_ARG_INTS;
  }
}

std::string type_text(const ArgPlan& arg) {
  std::string text = kind_text(arg.kind);
  if (arg.has(kElementOptional)) text += "?";
  if (arg.has(kRows)) text += "[]";
  if (arg.has(kList)) text += arg.list_size < 0 ? "[]" : "[" + std::to_string(arg.list_size) + "]";
  return arg.has(kOptional) ? text + "?" : text;
}

void refuse(const OpPlan& op, const ArgPlan& arg, const std::string& expected, const std::string& got,
            const std::string& next) {
  raise("CallError", op.full_name() + ": argument '" + arg.name + "' expects " + expected + ", got " + got +
                         (next.empty() ? "" : "; " + next));
}

ob_arg read_attribute(const OpPlan& op, const ArgPlan& arg, PyObject* value, ScratchArena& memory) {
  if (value == Py_None && arg.has(kOptional)) return ob_arg{OB_ARG_NONE, 0, {}};
  const Reader reader(op, arg);
  if (arg.has(kRows)) return read_rows(reader, arg, value, memory);
  return arg.has(kList) ? read_list(reader, arg, value, memory) : reader.read(value);
}

ob_arg read_default(const ArgPlan& arg, ScratchArena& memory) {
  const Constant& value = arg.fallback;
  if (!arg.has(kList) || value.tag == ConstantTag::None) return constant(value, arg.kind);
  const bool repeated = value.tag != ConstantTag::List;
  const size_t count = repeated ? static_cast<size_t>(arg.list_size < 0 ? 1 : arg.list_size) : value.items.size();
  ob_arg list = new_list(arg.kind, count, memory);
  for (size_t i = 0; i < count; ++i) store(list, i, constant(repeated ? value : value.items[i], arg.kind));
  return list;
}

}  // namespace opbridge
