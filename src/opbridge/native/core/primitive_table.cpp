// `opbridge._core.PrimitiveTable`: the way from a call in MindSpore's PyNative mode to the primitive that runs it.
//
// A primitive has attributes, absent arguments, list lengths and element types fixed.  They are written down as bytes,
// and the primitive that belongs to these bytes is remembered; for new ones, Python makes it.
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../invoke.h"
#include "arguments.h"
#include "kept_objects.h"
#include "mindspore_functions.h"

namespace opbridge {
namespace {

// Primitives by the bytes of a call's attributes and element types; the least used goes when it is full.
class Table {
 public:
  Table(ArgumentNames names, std::vector<char> is_tensor, PyObject* tensor_type, PyObject* find)
      : names_(std::move(names)),
        is_tensor_(std::move(is_tensor)),
        tensor_type_(Ref::copy(tensor_type)),
        find_(Ref::copy(find)),
        dtype_(Ref::checked(PyUnicode_InternFromString("dtype"))) {}

  void add_dtype(PyObject* dtype, char code) { dtypes_.push_back({Ref::copy(dtype), code}); }
  PyObject* find_function() const { return find_.get(); }
  void forget() {
    std::list<Entry> old;  // let go of last: that may run Python code
    ++version_;
    by_key_.clear();
    old.swap(entries_);
  }
  void clear() {
    forget();
    find_ = Ref::copy(Py_None);
  }

  PyObject* call(PyObject* const* args, size_t count, PyObject* keywords) {
    Small<PyObject*, 16> storage;
    PyObject** values = place(args, count, keywords, storage);
    Small<PyObject*, 16> given;
    for (size_t i = 0; i < names_.size(); ++i) given.push_back(values[i]);
    KeptObjects kept;
    copy_lists(values, kept);
    Ref primitive = this->primitive(values, given.data());
    Small<PyObject*, 16> tensors;
    for (size_t i = 0; i < names_.size(); ++i)
      if (is_tensor_[i] && values[i]) append_tensors(values[i], tensors);
    return PyObject_Vectorcall(primitive.get(), tensors.data(), tensors.size(), nullptr);
  }

  // The arguments that were passed, by name.
  PyObject* bind(PyObject* const* args, size_t count, PyObject* keywords) {
    Small<PyObject*, 16> storage;
    PyObject** values = place(args, count, keywords, storage);
    return bound(values, values).release();
  }

 private:
  // Attributes that change from call to call fill it with primitives that are of no further use; MindSpore keeps some
  // 30 KB for each.
  static constexpr size_t kMostEntries = 128;

  // Lies in the list by use; the map's keys are views into these keys, so that neither moves without the other.
  struct Entry {
    std::string key;
    Ref primitive;
  };
  // MindSpore's object for an element type, compared by identity.
  struct DType {
    Ref object;
    char code;
  };

  PyObject** place(PyObject* const* args, size_t count, PyObject* keywords, Small<PyObject*, 16>& storage) {
    for (size_t i = 0; i < names_.size(); ++i) storage.push_back(nullptr);
    names_.place(args, count, keywords, storage.data());
    return storage.data();
  }

  // Replaces each list of tensors by a tuple: Python code that runs later may change the list.
  void copy_lists(PyObject** values, KeptObjects& kept) const {
    for (size_t i = 0; i < names_.size(); ++i)
      if (is_tensor_[i] && values[i] && PyList_Check(values[i]))
        values[i] = kept.keep(Ref::checked(PyList_AsTuple(values[i])));
  }

  // The values by name; a copy of a list is a list again, as messages name the type that was given.
  Ref bound(PyObject* const* values, PyObject* const* given) const {
    Ref found = Ref::checked(PyDict_New());
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!values[i]) continue;
      Ref value = values[i] == given[i] ? Ref::copy(values[i]) : Ref::checked(PySequence_List(values[i]));
      if (PyDict_SetItem(found.get(), names_.name(i), value.get()) < 0) throw PythonError{};
    }
    return found;
  }

  static void append_tensors(PyObject* value, Small<PyObject*, 16>& tensors) {
    if (value == Py_None) return;
    if (!PyTuple_Check(value)) {
      tensors.push_back(value);
      return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
      if (PyObject* item = PyTuple_GET_ITEM(value, i); item != Py_None) tensors.push_back(item);
  }

  Ref primitive(PyObject* const* values, PyObject* const* given) {
    std::string key;
    for (size_t i = 0; i < names_.size(); ++i) {
      const bool written = !values[i]      ? (key += 'm', true)
                           : is_tensor_[i] ? write_tensors(values[i], key)
                                           : write(values[i], key);
      // An unusual type: Python turns it into a usual one, and finds the primitive of that.
      if (!written) return found(values, given);
    }
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return Ref::copy(known->second->primitive.get());
    }
    const uint64_t version = version_;
    Ref made = found(values, given);
    // What was forgotten meanwhile may be what this was made from.
    if (version == version_) remember(std::move(key), Ref::copy(made.get()));
    return made;
  }

  Ref found(PyObject* const* values, PyObject* const* given) const {
    Ref arguments = bound(values, given);
    Ref function = Ref::copy(find_.get());
    return Ref::checked(PyObject_CallOneArg(function.get(), arguments.get()));
  }

  void remember(std::string key, Ref primitive) {
    if (by_key_.count(key)) return;  // made by another thread, or by what `find` called
    entries_.push_front({std::move(key), std::move(primitive)});
    by_key_.emplace(entries_.front().key, entries_.begin());
    if (entries_.size() <= kMostEntries) return;
    by_key_.erase(entries_.back().key);
    const Entry oldest = std::move(entries_.back());  // let go of last: that may run Python code
    entries_.pop_back();
  }

  bool write_tensors(PyObject* value, std::string& key) {
    if (value == Py_None) return key += 'N', true;
    if (!PyTuple_CheckExact(value)) return write_tensor(value, key);
    write_number('[', PyTuple_GET_SIZE(value), key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      PyObject* item = PyTuple_GET_ITEM(value, i);
      if (item == Py_None)
        key += 'N';
      else if (!write_tensor(item, key))
        return false;
    }
    return true;
  }

  bool write_tensor(PyObject* value, std::string& key) {
    if (!PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(tensor_type_.get()))) return false;
    Ref dtype = Ref::checked(PyObject_GetAttr(value, dtype_.get()));
    return write_dtype(dtype.get(), key);
  }

  bool write_dtype(PyObject* value, std::string& key) const {
    for (const DType& known : dtypes_)
      if (known.object.get() == value) return key += 'd', key += known.code, true;
    return false;
  }

  template <class Number>
  static void write_number(char tag, Number number, std::string& key) {
    key += tag;
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  // Writes unambiguous keys: an int differs from a bool and a float, and 0.0 from -0.0.
  bool write(PyObject* value, std::string& key) const {
    if (value == Py_None) return key += 'N', true;
    if (PyBool_Check(value)) return key += value == Py_True ? 'T' : 'F', true;
    if (PyFloat_CheckExact(value)) return write_number('f', PyFloat_AS_DOUBLE(value), key), true;
    if (PyLong_CheckExact(value)) {
      int overflow;
      write_number('i', PyLong_AsLongLongAndOverflow(value, &overflow), key);
      return !overflow;
    }
    if (PyUnicode_CheckExact(value)) {
      Py_ssize_t size;
      const char* bytes = PyUnicode_AsUTF8AndSize(value, &size);
      if (!bytes) return PyErr_Clear(), false;
      write_number('s', size, key);
      key.append(bytes, static_cast<size_t>(size));
      return true;
    }
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return write_dtype(value, key);
    write_number('[', PySequence_Fast_GET_SIZE(value), key);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      if (PyObject* item = PySequence_Fast_GET_ITEM(value, i); PyList_Check(item) || !write(item, key)) return false;
    return true;
  }

  const ArgumentNames names_;
  const std::vector<char> is_tensor_;
  const Ref tensor_type_;
  Ref find_;
  const Ref dtype_;
  std::vector<DType> dtypes_;
  uint64_t version_ = 0;      // how often all was forgotten
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

// The Table to Python, callable; it owns it.
struct PrimitiveTable {
  PyObject_HEAD vectorcallfunc vectorcall;
  Table* impl;
};

Table& table_of(PyObject* self) { return *reinterpret_cast<PrimitiveTable*>(self)->impl; }

PyObject* call_table(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  return guarded([&] { return table_of(self).call(args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), keywords); });
}

PyObject* bind_arguments(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] { return table_of(self).bind(args, static_cast<size_t>(count), keywords); });
}

PyObject* forget(PyObject* self, PyObject*) {
  table_of(self).forget();
  return Py_NewRef(Py_None);
}

PyObject* new_table(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    const char *op, *schema;
    PyObject *arguments, *tensor, *dtypes, *find;
    Py_ssize_t positional;
    if (!PyArg_ParseTuple(args, "ssOnO!O!O:PrimitiveTable", &op, &schema, &arguments, &positional, &PyType_Type,
                          &tensor, &PyDict_Type, &dtypes, &find))
      throw PythonError{};
    std::vector<ArgumentNames::Argument> names;
    std::vector<char> is_tensor;
    Ref items = Ref::checked(PySequence_Fast(arguments, "arguments: (name, required, is a tensor) of each"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      const char* name;
      int required, tensors;
      if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(items.get(), i), "spp", &name, &required, &tensors))
        throw PythonError{};
      names.push_back({name, required != 0});
      is_tensor.push_back(tensors != 0);
    }
    auto impl = std::make_unique<Table>(ArgumentNames(op, schema, names, static_cast<size_t>(positional)),
                                        std::move(is_tensor), tensor, find);
    PyObject *dtype, *code;
    for (Py_ssize_t position = 0; PyDict_Next(dtypes, &position, &dtype, &code);)
      impl->add_dtype(dtype, static_cast<char>(PyLong_AsLong(code)));
    if (PyErr_Occurred()) throw PythonError{};
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) throw PythonError{};
    reinterpret_cast<PrimitiveTable*>(self)->vectorcall = call_table;
    reinterpret_cast<PrimitiveTable*>(self)->impl = impl.release();
    return self;
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (reinterpret_cast<PrimitiveTable*>(self)->impl) Py_VISIT(table_of(self).find_function());
  return 0;
}

int clear(PyObject* self) {
  table_of(self).clear();
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<PrimitiveTable*>(self)->impl;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(bind_arguments)), METH_FASTCALL | METH_KEYWORDS,
     "bind(*args, **kwargs): the arguments that were passed, by name."},
    {"clear", forget, METH_NOARGS, "Forgets every primitive."},
    {}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PrimitiveTable, vectorcall), READONLY, nullptr},
                         {}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_table)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("PrimitiveTable(name, schema, arguments, positional, tensor, dtypes, find): runs the "
                                  "primitive for a call's arguments; find(bound) makes one.")},
    {}};

PyType_Spec spec = {"opbridge._core.PrimitiveTable", sizeof(PrimitiveTable), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

void add_primitive_table_type(PyObject* module) { add_type(module, spec); }

}  // namespace opbridge
