// Finds the place of each argument of a call, by position or by name, as the schema says.
#ifndef OPBRIDGE_NATIVE_CORE_ARGUMENTS_H
#define OPBRIDGE_NATIVE_CORE_ARGUMENTS_H

#include <string>
#include <vector>

#include "python.h"

namespace opbridge {

// Puts a Python call's arguments at their places, and says what Python says of one that does not fit.
class ArgumentNames {
 public:
  // One that is not required may stay null.
  struct Argument {
    std::string name;
    bool required;
  };

  // `positional`: how many of the arguments may be passed by position.  `extra`: a further keyword, or null.
  ArgumentNames(std::string op, std::string schema, const std::vector<Argument>& arguments, size_t positional,
                const char* extra = nullptr);

  size_t size() const { return names_.size(); }
  PyObject* name(size_t i) const { return names_[i].get(); }

  // Fills `values`, which has room for all arguments, with borrowed references; null where an argument is left out.
  // Returns what came as the extra keyword.
  PyObject* place(PyObject* const* args, size_t count, PyObject* keywords, PyObject** values) const;

 private:
  PyObject*& find(PyObject* keyword, PyObject** values, PyObject*& extra) const;

  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void too_many(size_t count) const;
  [[noreturn]] void unknown(PyObject* keyword) const;

  const std::string op_, schema_;
  const size_t positional_;
  std::vector<Ref> names_;
  std::vector<char> required_;
  Ref extra_;
};

}  // namespace opbridge

#endif
