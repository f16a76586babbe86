#include "kernel.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

#include "../binding.h"
#include "announced_kernel.h"
#include "aot_library.h"
#include "crashes.h"
#include "libraries.h"

namespace opbridge {
namespace {

PyTypeObject* kernel_type;

std::string dl_message() {
  const char* text = dlerror();
  return text ? text : "the loader gave no reason";
}

// Returns the kernel of a function without a signature, if it expects the MindSpore attribute block.
AotKernel* block_kernel(void* library, const std::string& symbol, ob_kernel function, PyObject* path) {
  const auto find = [&](const char* suffix) { return dlsym(library, (symbol + suffix).c_str()); };
  const AotFunctions functions{function, find("Init"), find("InferShape"), find("InferType")};
  Ref elf = Ref::checked(PyImport_ImportModule("opbridge.build.sources.elf"));
  const bool speaks = functions.init || functions.infer_shape || functions.infer_type;
  Ref found = Ref::checked(PyObject_CallMethod(elf.get(), "attribute_block", "OO", path, speaks ? Py_True : Py_False));
  const auto flags = static_cast<unsigned>(PyLong_AsUnsignedLong(found.get()));
  if (PyErr_Occurred()) throw PythonError{};
  return flags & kTakesBlock ? &aot_kernel(library, symbol, functions, flags) : nullptr;
}

// A variable can be called like a function, once.
bool is_data(void* address) {
  Dl_info info;
  const ElfW(Sym)* entry = nullptr;
  const bool found = dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&entry)), RTLD_DL_SYMENT);
  return found && entry && info.dli_saddr == address && ELF64_ST_TYPE(entry->st_info) == STT_OBJECT;
}

const char* role_word(int32_t role) {
  switch (role) {
    case OB_PARAM_IN:
      return "In";
    case OB_PARAM_OUT:
      return "Out";
    case OB_PARAM_INOUT:
      return "InOut";
    default:
      return "";
  }
}

const char* attribute_word(int32_t kind) {
  switch (kind) {
    case OB_ARG_BOOL:
      return "bool";
    case OB_ARG_INT:
      return "int64_t";
    case OB_ARG_FLOAT:
      return "double";
    case OB_ARG_STRING:
      return "String";
    case OB_ARG_INTS:
      return "Ints";
    case OB_ARG_FLOATS:
      return "Floats";
    case OB_ARG_BOOLS:
      return "Bools";
    case OB_ARG_DTYPE:
      return "DType";
    default:
      return "Scalar";
  }
}

// A kernel built for a later opbridge may have element types that this one does not know.
const char* element_word(int32_t code) { return code >= 0 && code < OB_DTYPE_COUNT ? dtype_name(code) : "?"; }

// A parameter as it is written in C++: "In<T>", "Optional<List<In<float32, strided>>>", "double".
std::string parameter_text(const ob_param& param) {
  std::string text;
  if (param.role == OB_PARAM_ATTR) {
    text = attribute_word(param.type);
  } else {
    const std::string element = param.type == OB_DTYPE_TEMPLATE ? "T"
                                : param.type == OB_DTYPE_ANY    ? "any"
                                                                : element_word(param.type);
    text = std::string(role_word(param.role)) + "<" + element + (param.flags & OB_PARAM_STRIDED ? ", strided>" : ">");
    if (param.flags & OB_PARAM_LIST) text = "List<" + text + ">";
  }
  return param.flags & OB_PARAM_OPTIONAL ? "Optional<" + text + ">" : text;
}

std::string signature_text(const ob_signature& signature) {
  std::string text = "(";
  for (int32_t i = 0; i < signature.n_params;) {
    const std::string parameter = parameter_text(signature.params[i]);
    int32_t end = i + 1;
    while (end < signature.n_params && parameter_text(signature.params[end]) == parameter) ++end;
    text += (i ? ", " : "") + parameter + (end - i > 1 ? " x" + std::to_string(end - i) : "");
    i = end;
  }
  text += ")";
  for (int32_t i = 0; i < signature.n_dtypes; ++i)
    text += (i ? ", " : " for ") + std::string(element_word(signature.dtypes[i]));
  return text;
}

PyObject* describe(PyObject* self, PyObject*) {
  const KernelEntry& kernel = reinterpret_cast<Kernel*>(self)->entry;
  return guarded([&]() -> PyObject* {
    const std::string text = kernel.signature ? signature_text(*kernel.signature)
                             : kernel.aot     ? kernel.aot->description()
                                              : "a bare aot function";
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

PyObject* address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(reinterpret_cast<void*>(reinterpret_cast<Kernel*>(self)->entry.function));
}

PyObject* signature_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(const_cast<ob_signature*>(reinterpret_cast<Kernel*>(self)->entry.signature));
}

PyObject* aot_address(PyObject* self, void*) { return PyLong_FromVoidPtr(reinterpret_cast<Kernel*>(self)->entry.aot); }

PyObject* kernel_repr(PyObject* self) {
  const Kernel& kernel = *reinterpret_cast<Kernel*>(self);
  return PyUnicode_FromFormat("<opbridge kernel %U of %U>", kernel.symbol, kernel.path);
}

void kernel_dealloc(PyObject* self) {
  Kernel& kernel = *reinterpret_cast<Kernel*>(self);
  Py_XDECREF(kernel.path);
  Py_XDECREF(kernel.symbol);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"describe", describe, METH_NOARGS, "The C++ parameters and element types, for people."}, {}};

PyGetSetDef properties[] = {
    {"address", address, nullptr, "Where the kernel is in memory.", nullptr},
    {"signature_address", signature_address, nullptr, "Where its ob_signature is; 0 for a bare aot function.", nullptr},
    {"aot_address", aot_address, nullptr, "Where its AotKernel is; 0 where `address` is called.", nullptr},
    {}};

PyMemberDef members[] = {{"path", T_OBJECT_EX, offsetof(Kernel, path), READONLY, nullptr},
                         {"symbol", T_OBJECT_EX, offsetof(Kernel, symbol), READONLY, nullptr},
                         {}};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
                       {Py_tp_repr, reinterpret_cast<void*>(kernel_repr)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("One kernel of a loaded library; made by load_kernel.")},
                       {}};

PyType_Spec spec = {"opbridge._core.Kernel", sizeof(Kernel), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

Kernel* as_kernel(PyObject* object) {
  return Py_TYPE(object) == kernel_type ? reinterpret_cast<Kernel*>(object) : nullptr;
}

Binding bound_kernel(PyObject* object, const OpPlan& op, const std::string& full_name) {
  Kernel* kernel = as_kernel(object);
  if (!kernel) raise("KernelError", full_name + ": a kernel must come from load_kernel, got " + type_name(object));
  Binding binding;
  binding.function = kernel->entry.function;
  binding.signature = kernel->entry.signature;
  binding.aot = kernel->entry.aot;
  binding.symbol = text_of(kernel->symbol);
  const std::string misfit = bind(op, binding);
  if (!misfit.empty()) raise("KernelError", misfit);
  return binding;
}

std::string advice(const char* module, const char* function, PyObject* path, const std::string& subject) {
  Ref home = Ref::checked(PyImport_ImportModule((std::string("opbridge.build.sources.") + module).c_str()));
  Ref text = Ref::checked(PyObject_CallMethod(home.get(), function, "Os", path, subject.c_str()));
  return text_of(text.get());
}

std::string encoded_path(PyObject* path) {
  Ref encoded = Ref::checked(PyUnicode_EncodeFSDefault(path));
  return PyBytes_AS_STRING(encoded.get());
}

PyObject* new_kernel(const KernelEntry& entry, PyObject* path, PyObject* symbol) {
  PyObject* object = kernel_type->tp_alloc(kernel_type, 0);
  if (!object) throw PythonError{};
  Kernel& kernel = *reinterpret_cast<Kernel*>(object);
  kernel.entry = entry;
  kernel.path = Py_NewRef(path);
  kernel.symbol = Py_NewRef(symbol);
  return object;
}

PyObject* load_kernel(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count < 2 || count > 3 || !std::all_of(args, args + count, [](PyObject* arg) { return PyUnicode_Check(arg); }))
      raise("KernelError", "load_kernel expects a path, a symbol and what messages call the library, all of them str");
    const std::string path = encoded_path(args[0]), symbol = text_of(args[1]);
    watch_for_crashes();
    void* library = open_library(path);
    if (!library) {
      const std::string reason = dl_message();
      raise("KernelError", "cannot load " + path + ": " + reason + advice("elf", "why_not_loaded", args[0], reason));
    }
    auto function = reinterpret_cast<ob_kernel>(dlsym(library, symbol.c_str()));
    const std::string shown = text_of(args[count == 3 ? 2 : 0]);
    if (!function)
      raise("KernelError", "no kernel '" + symbol + "' in " + shown + advice("elf", "why_no_symbol", args[0], symbol));
    if (is_data(reinterpret_cast<void*>(function)))
      raise("KernelError", "'" + symbol + "' in " + shown + " is a variable; expected a function");
    auto* describe_itself = static_cast<const ob_signature*>(dlsym(library, (symbol + "_ob_signature").c_str()));
    AotKernel* aot = describe_itself ? nullptr : block_kernel(library, symbol, function, args[0]);
    if (AotKernel* announced = announced_kernel(library, symbol, function, aot)) aot = announced;
    return new_kernel({function, describe_itself, aot}, args[0], args[1]);
  });
}

PyObject* set_kernel_name(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Kernel* kernel = count == 3 ? as_kernel(args[0]) : nullptr;
    if (!kernel) raise("KernelError", "name_kernel expects a kernel, its operator and an advice");
    name_kernel(reinterpret_cast<uintptr_t>(kernel->entry.function), text_of(args[1]), text_of(args[2]));
    return Py_NewRef(Py_None);
  });
}

void add_kernel_type(PyObject* module) { kernel_type = add_type(module, spec); }

}  // namespace opbridge
