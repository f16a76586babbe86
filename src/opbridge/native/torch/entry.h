// An operator registered with PyTorch, and the error every other file throws.
#ifndef OPBRIDGE_NATIVE_TORCH_ENTRY_H
#define OPBRIDGE_NATIVE_TORCH_ENTRY_H

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/object_ptr.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../binding.h"
#include "compat.h"

namespace opbridge::torch_adapter {

using Stack = torch::jit::Stack;

// Room for the arguments and results of ordinary operators without a heap allocation.
using Values = c10::SmallVector<c10::IValue, 8>;
using Results = c10::SmallVector<c10::IValue, 2>;

// Python classes of opbridge.base.errors, set when the module is loaded.
inline PyObject* call_error = nullptr;
inline PyObject* kernel_error = nullptr;
inline PyObject* unsupported_error = nullptr;

// Reaches Python as the class given, through PyTorch's own translation.
struct Failure : torch::PyTorchError {
  Failure(PyObject* type, const std::string& message) : PyTorchError(message), type_(type) {}
  PyObject* python_type() override { return type_; }

 private:
  PyObject* type_;
};

// Replaces the current exception by `translate(exception)`.
inline PyObject* raise_translated(PyObject* translate) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  const THPObjectPtr owned_type(type), owned_value(value), owned_trace(trace);
  THPObjectPtr translated(PyObject_CallOneArg(translate, value));
  if (translated) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(translated.get())), translated.get());
  return nullptr;
}

// Devices for which an operator may have a kernel: indices into Definition::kernels.
enum Device { kCpu, kCuda, kNpu, kDeviceCount };

inline const char* const device_names[kDeviceCount] = {"cpu", "cuda", "npu"};

// The PyTorch operator that another operator calls, or that gets rules under its own name.
struct Forward {
  c10::OperatorHandle to;
  std::vector<int64_t> order;  // for each of its arguments, which of ours it is; kDefault: its own default

  static constexpr int64_t kDefault = -1;
};

// The code that defines the rules of an operator.
enum class Rulers {
  Plan,         // its plan, with our kernels
  Operator,     // a PyTorch operator; this one is another name for it
  RulesByName,  // the rules of its plan, and otherwise a PyTorch operator of another name
  RulesOnIt,    // the same, with the rules on the PyTorch operator itself
};

// A kernel as an operator uses it on one device; never freed, as its Definition is not.
struct DeviceBinding : Binding {
  bool by_window = false;  // for the CPU, and given the memory of a simulated device
};

// What an operator does, replaced as a whole when the user defines it again.  Never freed: calls in flight and saved
// graphs may still hold the old one, and a definition is a few kilobytes.
struct Definition {
  OpPlan plan;
  std::string full_name;
  mutable std::array<std::atomic<const DeviceBinding*>, kDeviceCount> kernels{};
  // (device: str) -> addresses of the kernel, its signature and its AotKernel, its symbol, and whether it goes by
  // window
  PyObject* find_kernel = nullptr;
  std::optional<Forward> forward;  // then there is no kernel
  Rulers rulers = Rulers::Plan;
  bool mutates = false;
  mutable std::atomic<bool> warned_of_loop{false};
  std::vector<char> saved_arg, saved_out;  // which tensors the formulas read
};

// An operator for as long as the process lives: calls in any thread read `definition`, the rest is under Python's lock.
struct Entry {
  std::atomic<const Definition*> definition{nullptr};
  std::unique_ptr<c10::OperatorHandle> handle;
  int64_t generation = 0;        // counts changes of the schema
  Rulers rulers = Rulers::Plan;  // whom `kernels` are for
  std::optional<c10::RegistrationHandleRAII> schema;
  std::map<c10::DispatchKey, c10::RegistrationHandleRAII> kernels;

  const Definition& now() const { return *definition.load(std::memory_order_acquire); }
};

inline int32_t dtype_code(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return OB_bool;
    case at::kByte:
      return OB_uint8;
    case at::kChar:
      return OB_int8;
    case at::kUInt16:
      return OB_uint16;
    case at::kShort:
      return OB_int16;
    case at::kUInt32:
      return OB_uint32;
    case at::kInt:
      return OB_int32;
    case at::kUInt64:
      return OB_uint64;
    case at::kLong:
      return OB_int64;
    case at::kHalf:
      return OB_float16;
    case at::kBFloat16:
      return OB_bfloat16;
    case at::kFloat:
      return OB_float32;
    case at::kDouble:
      return OB_float64;
    case at::kComplexFloat:
      return OB_complex64;
    case at::kComplexDouble:
      return OB_complex128;
    default:
      return -1;
  }
}

inline at::ScalarType scalar_type(int64_t code) {
  static constexpr at::ScalarType types[OB_DTYPE_COUNT] = {
      at::kBool, at::kByte, at::kChar,     at::kUInt16, at::kShort,  at::kUInt32,       at::kInt,          at::kUInt64,
      at::kLong, at::kHalf, at::kBFloat16, at::kFloat,  at::kDouble, at::kComplexFloat, at::kComplexDouble};
  return types[code];
}

inline bool differentiable_type(const at::Tensor& t) {
  return at::isFloatingType(t.scalar_type()) || at::isComplexType(t.scalar_type());
}

// Calls visit(tensor) for every defined tensor in a value: a tensor, an optional one, or a list of either.
template <class Visit>
void each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& t : value.toTensorVector())
      if (t.defined()) visit(t);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) each_tensor(item, visit);
  }
}

// Maps every tensor in a value and keeps the value's structure.
template <class Map>
c10::IValue map_tensors(const c10::IValue& value, Map&& map) {
  if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(map(value.toTensor())) : value;
  if (value.isTensorList()) {
    std::vector<at::Tensor> mapped;
    for (const at::Tensor& t : value.toTensorVector()) mapped.push_back(map(t));
    return mapped;
  }
  const auto is_tensor = [](const c10::IValue& item) { return item.isTensor(); };
  // A list of numbers is one too.
  if (value.isList() && std::any_of(value.toListRef().begin(), value.toListRef().end(), is_tensor)) {
    c10::List<std::optional<at::Tensor>> mapped;
    for (const c10::IValue& item : value.toListRef())
      mapped.push_back(item.isTensor() ? std::optional<at::Tensor>(map(item.toTensor())) : std::nullopt);
    return mapped;
  }
  return value;
}

}  // namespace opbridge::torch_adapter

#endif
