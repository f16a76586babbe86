// Functions of PyTorch extensions as Python calls them, for sources that say of them no more than their types.
//
// pybind11 and PyTorch read the arguments, make the results and translate the errors, as they do for functions that are
// bound where they stand.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../include/bindings/table.h"

namespace py = pybind11;

namespace opbridge::bindings {
namespace {

static_assert(sizeof(at::Tensor) == sizeof(void*), "slim/signatures has another at::Tensor");

// Calls `use` with a type's name for Python, as a value of that type.
template <class Use>
decltype(auto) with_type(Kind kind, Use use) {
  switch (kind) {
    case Kind::Tensor:
      return use(std::type_identity<at::Tensor>(), "torch.Tensor");
    case Kind::Tensors:
      return use(std::type_identity<std::vector<at::Tensor>>(), "list[torch.Tensor]");
    case Kind::Bool:
      return use(std::type_identity<bool>(), "bool");
    case Kind::Int:
      return use(std::type_identity<int>(), "int");
    case Kind::Int64:
      return use(std::type_identity<std::int64_t>(), "int");
    case Kind::Float:
      return use(std::type_identity<float>(), "float");
    case Kind::Double:
      return use(std::type_identity<double>(), "float");
    case Kind::Nothing:
      break;
  }
  return use(std::type_identity<void>(), "None");
}

// An argument in C++: null where Python's is none of its type.
using Argument = std::shared_ptr<void>;

Argument argument(Kind kind, py::handle given) {
  return with_type(kind, [&]<class T>(std::type_identity<T>, const char*) -> Argument {
    if constexpr (!std::is_void_v<T>) {
      py::detail::make_caster<T> caster;
      if (caster.load(given, true)) return std::make_shared<T>(py::detail::cast_op<T>(std::move(caster)));
    }
    return nullptr;
  });
}

std::string signature(const Function& function) {
  const auto name = [](Kind kind) {
    return std::string(with_type(kind, [](auto, const char* named) { return named; }));
  };
  std::string text = "(";
  for (std::size_t i = 0; i < function.count; ++i) {
    text += (i ? ", arg" : "arg") + std::to_string(i) + ": " + name(function.kinds[i]);
  }
  return text + ") -> " + name(function.result);
}

[[noreturn]] void refuse(const Function& function, const py::args& given) {
  std::string text = std::string(function.name) +
                     "(): incompatible function arguments. The following argument types are supported:\n    1. " +
                     signature(function) + "\n\nInvoked with: ";
  for (std::size_t i = 0; i < given.size(); ++i) text += (i ? ", " : "") + std::string(py::repr(given[i]));
  throw py::type_error(text);
}

py::object call(const Function& function, const py::args& given) {
  if (given.size() != function.count) refuse(function, given);
  std::vector<Argument> kept;
  std::vector<void*> places;
  for (std::size_t i = 0; i < function.count; ++i) {
    kept.push_back(argument(function.kinds[i], given[i]));
    places.push_back(kept.back().get());
    if (!places.back()) refuse(function, given);
  }
  return with_type(function.result, [&]<class T>(std::type_identity<T>, const char*) -> py::object {
    if constexpr (std::is_void_v<T>) {
      function.call(function.target, places.data(), nullptr);
      return py::none();
    } else {
      union Place {
        T value;
        Place() {}
        ~Place() {}
      } place;
      function.call(function.target, places.data(), &place.value);
      const std::unique_ptr<T, void (*)(T*)> owner(&place.value, [](T* made) { std::destroy_at(made); });
      return py::cast(std::move(place.value));
    }
  });
}

}  // namespace
}  // namespace opbridge::bindings

extern "C" void* opbridge_bindings_module(const char* name, const opbridge::bindings::Function* functions,
                                          std::size_t count) {
  using namespace opbridge::bindings;
  py::options options;
  options.disable_function_signatures();  // pybind11's would speak of *args
  auto module = py::module_::create_extension_module(name, nullptr, new PyModuleDef());
  for (const auto* function = functions; function != functions + count; ++function) {
    const auto called = [function](const py::args& given, const py::kwargs& named) -> py::object {
      HANDLE_TH_ERRORS
      if (!named.empty()) refuse(*function, given);
      return call(*function, given);
      END_HANDLE_TH_ERRORS_PYBIND
    };
    const auto text = function->name + signature(*function) + "\n\n" + function->documentation;
    module.attr(function->name) = py::cpp_function(called, py::name(function->name), py::doc(text.c_str()));
  }
  return module.release().ptr();
}

extern "C" void opbridge_bindings_copy(void** to, void* const* from) {
  new (to) at::Tensor(*reinterpret_cast<const at::Tensor*>(from));
}

extern "C" void opbridge_bindings_release(void** member) { std::destroy_at(reinterpret_cast<at::Tensor*>(member)); }
