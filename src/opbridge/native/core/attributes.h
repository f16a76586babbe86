// Python values to the attributes of a kernel call, by the rules of torch.ops: an int takes a bool, a float takes an
// int, nothing loses a fraction; NumPy's scalars count as Python's.
#ifndef OPBRIDGE_NATIVE_CORE_ATTRIBUTES_H
#define OPBRIDGE_NATIVE_CORE_ATTRIBUTES_H

#include <string>

#include "../invoke.h"
#include "python.h"

namespace opbridge {

// "int[2]?", as the schema writes it.
std::string type_text(const ArgPlan& arg);

// Raises CallError: "mylib::f: argument 'x' expects ..., got ...; next".
[[noreturn]] void refuse(const OpPlan& op, const ArgPlan& arg, const std::string& expected, const std::string& got,
                         const std::string& next = "");

// How the kernel gets a list of these.
int32_t list_kind(Kind kind);

// Converts an argument that is not a tensor.  Lists live in `memory`; strings in `value`.
ob_arg read_attribute(const OpPlan& op, const ArgPlan& arg, PyObject* value, ScratchArena& memory);

// The argument where the caller leaves it out.  Lists live in `memory`; strings in `arg`.
ob_arg read_default(const ArgPlan& arg, ScratchArena& memory);

}  // namespace opbridge

#endif
