#include "arguments.h"

#include <algorithm>
#include <utility>

namespace opbridge {

ArgumentNames::ArgumentNames(std::string op, std::string schema, const std::vector<Argument>& arguments,
                             size_t positional, const char* extra)
    : op_(std::move(op)), schema_(std::move(schema)), positional_(positional) {
  for (const Argument& argument : arguments) {
    names_.push_back(Ref::checked(PyUnicode_InternFromString(argument.name.c_str())));
    required_.push_back(argument.required);
  }
  if (extra) extra_ = Ref::checked(PyUnicode_InternFromString(extra));
}

PyObject* ArgumentNames::place(PyObject* const* args, size_t count, PyObject* keywords, PyObject** values) const {
  if (count > positional_) too_many(count);
  std::copy(args, args + count, values);
  std::fill(values + count, values + size(), nullptr);
  PyObject* extra = nullptr;
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
    PyObject*& place = find(keyword, values, extra);
    if (place) fail("argument '" + text_of(keyword) + "' was passed twice, by position and by name");
    place = args[count + static_cast<size_t>(i)];
  }
  for (size_t i = 0; i < size(); ++i)
    if (!values[i] && required_[i]) fail("argument '" + text_of(name(i)) + "' is missing");
  return extra;
}

PyObject*& ArgumentNames::find(PyObject* keyword, PyObject** values, PyObject*& extra) const {
  for (size_t i = 0; i < size(); ++i)
    if (name(i) == keyword) return values[i];
  if (extra_ && extra_.get() == keyword) return extra;
  // Keywords in source code are interned, those made at run time need not be.
  for (size_t i = 0; i < size(); ++i)
    if (PyUnicode_Compare(name(i), keyword) == 0) return values[i];
  if (extra_ && PyUnicode_Compare(extra_.get(), keyword) == 0) return extra;
  unknown(keyword);
}

void ArgumentNames::fail(const std::string& message) const {
  raise("CallError", op_ + ": " + message + "; the schema is " + schema_);
}

void ArgumentNames::too_many(size_t count) const {
  std::string message = std::to_string(positional_) + " arguments go by position, got " + std::to_string(count);
  if (positional_ < size()) {
    const std::string next = text_of(name(positional_));
    message += "; write " + next + "=... for '" + next + "'";
  }
  fail(message);
}

void ArgumentNames::unknown(PyObject* keyword) const {
  Ref errors = Ref::checked(PyImport_ImportModule("opbridge.base.errors"));
  Ref known = Ref::checked(PyList_New(0));
  for (const Ref& name : names_)
    if (PyList_Append(known.get(), name.get()) < 0) throw PythonError{};
  if (extra_ && PyList_Append(known.get(), extra_.get()) < 0) throw PythonError{};
  Ref hint = Ref::checked(PyObject_CallMethod(errors.get(), "did_you_mean", "OO", keyword, known.get()));
  const std::string near = text_of(hint.get());
  fail("there is no argument '" + text_of(keyword) + "'" + (near.empty() ? "" : ", " + near));
}

}  // namespace opbridge
