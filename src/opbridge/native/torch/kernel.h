// Runs an operator's own kernel: allocates its outputs and makes the C call.  Below autograd, on real memory.
#ifndef OPBRIDGE_NATIVE_TORCH_KERNEL_H
#define OPBRIDGE_NATIVE_TORCH_KERNEL_H

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include "allocate.h"
#include "entry.h"
#include "overlap.h"
#include "parallel.h"

namespace opbridge::torch_adapter {

// Returns where the CPU reads the memory of a simulated device.  The simulated device has loaded the function.
inline void* in_window(void* address) {
  using Window = void* (*)(const void*);
  static const auto window = reinterpret_cast<Window>(dlsym(RTLD_DEFAULT, "ob_ascend_window"));
  return window ? window(address) : address;
}

// What a kernel may ask for during one call; a device's scratch is tensors, which their allocator ties to the stream.
struct KernelHost {
  ScratchArena cpu;
  std::vector<at::Tensor> device_blocks;
  at::Device device = at::kCPU;
  bool runs_on_cpu = true;

  static void* scratch(void* self, size_t bytes) noexcept try {
    auto& host = *static_cast<KernelHost*>(self);
    if (host.runs_on_cpu) return host.cpu.take(bytes);
    if (bytes > SIZE_MAX / 4) return nullptr;
    const auto size = static_cast<int64_t>(bytes) + 1;
    host.device_blocks.push_back(at::empty({size}, at::TensorOptions().dtype(at::kByte).device(host.device)));
    return host.device_blocks.back().mutable_data_ptr();
  } catch (const std::exception&) {
    return nullptr;
  }

  static void parallel(void*, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* state) {
    if (n > 0) Loop{n, std::max<int64_t>(grain, 1), body, state}.run();
  }
};

// Takes the Python error along, to whichever thread reports it.
[[noreturn]] inline void throw_python_error() {
  python_error error;
  error.persist();
  throw std::move(error);
}

// Messages reach Python as UTF-8, which a kernel's need not be.
inline std::string as_utf8(const std::string& text) {
  const pybind11::gil_scoped_acquire gil;
  THPObjectPtr decoded(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  const char* bytes = decoded ? PyUnicode_AsUTF8(decoded.get()) : nullptr;
  if (!bytes) throw_python_error();
  return bytes;
}

// The operator's kernel for a device, asked of Python the first time.
inline const DeviceBinding& kernel_for(const Definition& definition, Device device) {
  const DeviceBinding* found = definition.kernels[device].load(std::memory_order_acquire);
  if (found) return *found;

  pybind11::gil_scoped_acquire gil;
  found = definition.kernels[device].load(std::memory_order_acquire);
  if (found) return *found;
  PyObject* answer = PyObject_CallFunction(definition.find_kernel, "s", device_names[device]);
  if (!answer) throw_python_error();
  const THPObjectPtr owner(answer);
  unsigned long long address = 0, signature = 0, aot = 0;
  const char* symbol = nullptr;
  int by_window = 0;
  if (!PyArg_ParseTuple(answer, "KKKsp", &address, &signature, &aot, &symbol, &by_window)) throw_python_error();
  auto binding = std::make_unique<DeviceBinding>();
  binding->function = reinterpret_cast<ob_kernel>(address);
  binding->signature = reinterpret_cast<const ob_signature*>(signature);
  binding->aot = reinterpret_cast<AotKernel*>(aot);
  binding->symbol = symbol;
  binding->by_window = by_window != 0;
  const std::string misfit = bind(definition.plan, *binding);
  if (!misfit.empty()) throw Failure(kernel_error, misfit);
  found = binding.release();
  definition.kernels[device].store(found, std::memory_order_release);
  return *found;
}

// Throws where no kernel can ever read a tensor.
inline void refuse_place(const Definition& definition, const ArgPlan& arg, const at::Tensor& t) {
  std::string why;
  if (t.layout() != at::kStrided)
    why = "a " + c10::str(t.layout()) + " tensor; kernels take dense ones, call .to_dense() first";
  else if (!t.is_cpu() && !t.is_cuda() && !t.is_privateuseone())
    why = "on " + t.device().str() +
          ", where no kernel runs; move it with .to(\"cpu\") or to another device of `kernels`";
  else if (dtype_code(t.scalar_type()) < 0)
    why = std::string("of dtype ") + toString(t.scalar_type()) +
          ", which no kernel reads; convert it with .to(...) first";
  if (!why.empty()) throw Failure(unsupported_error, definition.full_name + ": argument '" + arg.name + "' is " + why);
}

// A mutable argument the kernel cannot write in place, and the copy it writes instead.
struct WriteBack {
  at::Tensor destination, copy;
};

// One call of a kernel: it copies what a kernel cannot take as it lies, and copies back what the kernel wrote to.
class KernelCall {
 public:
  KernelCall(const Definition& definition, const DeviceBinding& kernel, at::Device device)
      : definition_(definition), kernel_(kernel) {
    host_.device = device;
    host_.runs_on_cpu = device.is_cpu() || kernel.by_window;
  }

  // `values`: the arguments in schema order, replaced by nothing; results are appended to `results`.
  void run(const c10::IValue* values, Results& results) {
    const OpPlan& plan = definition_.plan;
    read(values);
    if (plan.equal_shapes)
      if (const std::string unequal = invocation_.unequal_shapes(plan); !unequal.empty())
        throw Failure(call_error, definition_.full_name + ": " + unequal);
    if (definition_.mutates) check_overlap(values);

    Small<at::Tensor, 4> outputs;
    const ValueEnvironment environment{plan, values};
    std::vector<AotKernel::Output> inferred;
    if (plan.outputs_from_kernel()) inferred = ask_kernel();
    for (const OutPlan& out : plan.outs) {
      if (out.alias_arg >= 0) continue;
      outputs.push_back(out.from_kernel() ? allocate(inferred[outputs.size()])
                                          : torch_adapter::allocate(definition_, out, environment, host_.device));
      add(outputs.data()[outputs.size() - 1]);
    }

    HostServices services;
    services.scratch = KernelHost::scratch;
    services.parallel = KernelHost::parallel;
    services.host = &host_;
    std::string error;
    if (host_.runs_on_cpu) {
      error = invocation_.run(kernel_, definition_.full_name.c_str(), services, any_strided_);
    } else {
      const c10::DeviceGuard guard(host_.device);
      services.stream = native_stream(host_.device);
      services.device_type = host_.device.is_cuda() ? OB_DEVICE_CUDA : OB_DEVICE_NPU;
      services.device_index = host_.device.index();
      error = invocation_.run(kernel_, definition_.full_name.c_str(), services, any_strided_);
    }
    if (!error.empty()) throw Failure(kernel_error, as_utf8(error));

    for (const WriteBack& back : write_backs_) back.destination.copy_(back.copy);
    size_t next = 0;
    for (const OutPlan& out : plan.outs) {
      if (out.alias_arg >= 0)
        results.push_back(values[out.alias_arg]);
      else
        results.emplace_back(std::move(outputs.data()[next++]));
    }
  }

  // The outputs that `run` would make, on the device of this call, which may be one without memory.
  void describe(const c10::IValue* values, Results& results) {
    read(values);
    const std::vector<AotKernel::Output> inferred = ask_kernel();
    size_t next = 0;
    for (const OutPlan& out : definition_.plan.outs) {
      if (out.alias_arg >= 0)
        results.push_back(values[out.alias_arg]);
      else
        results.emplace_back(allocate(inferred[next++]));
    }
  }

 private:
  void read(const c10::IValue* values) {
    size_t tensor_argument = 0;
    for (size_t i = 0; i < definition_.plan.args.size(); ++i) {
      const ArgPlan& arg = definition_.plan.args[i];
      if (arg.is_tensor())
        tensor_value(arg, values[i], kernel_.strided[tensor_argument++] != 0);
      else
        attribute(arg, values[i]);
    }
    invocation_.inputs_end();
  }

  std::vector<AotKernel::Output> ask_kernel() {
    std::vector<AotKernel::Output> outputs;
    const std::string error = invocation_.infer(kernel_, definition_.plan, outputs);
    if (!error.empty()) throw Failure(kernel_error, as_utf8(error));
    return outputs;
  }

  at::Tensor allocate(const AotKernel::Output& output) const {
    return at::empty(output.shape, at::TensorOptions().dtype(scalar_type(output.dtype)).device(host_.device));
  }

  void tensor_value(const ArgPlan& arg, const c10::IValue& value, bool strided) {
    const auto first = invocation_.tensor_count();
    if (value.isNone() && arg.has(kList)) {
      invocation_.args.push_back({OB_ARG_TENSORS, 0, {first}});
    } else if (value.isNone()) {
      invocation_.missing_tensor();
      invocation_.args.push_back({OB_ARG_TENSOR, 1, {first}});
    } else if (value.isTensor()) {
      input(arg, value.toTensor(), strided);
      invocation_.args.push_back({OB_ARG_TENSOR, 1, {first}});
    } else {
      if (value.isTensorList()) {
        for (const at::Tensor& t : value.toTensorVector()) input(arg, t, strided);
      } else {
        for (const c10::IValue& item : value.toListRef()) {
          if (item.isNone())
            invocation_.missing_tensor();
          else
            input(arg, item.toTensor(), strided);
        }
      }
      const auto count = static_cast<int32_t>(invocation_.tensor_count() - first);
      invocation_.args.push_back({OB_ARG_TENSORS, count, {first}});
    }
  }

  void input(const ArgPlan& arg, const at::Tensor& given, bool strided) {
    if (!given.defined()) {
      invocation_.missing_tensor();
      return;
    }
    if (host_.device.is_meta()) {
      ints_.emplace_back();
      for (const c10::SymInt& size : given.sym_sizes()) ints_.back().push_back(size.guard_int(__FILE__, __LINE__));
      invocation_.tensor(nullptr, static_cast<int>(given.dim()), ints_.back().data(), nullptr,
                         dtype_code(given.scalar_type()));
      return;
    }
    refuse_place(definition_, arg, given);
    if (given.device() != host_.device)
      throw Failure(call_error, definition_.full_name + ": argument '" + arg.name + "' is on " + given.device().str() +
                                    ", the others are on " + host_.device.str() + "; move it there with .to(\"" +
                                    host_.device.str() + "\")");
    if (!storage_holds(given)) refuse_storage(arg, given);
    if (strided || given.is_contiguous()) {
      any_strided_ |= strided;
      add(given);
      return;
    }
    held_.push_back(given.contiguous());
    if (arg.has(kMutable)) write_backs_.push_back({given, held_.back()});
    add(held_.back());
  }

  // PyTorch lets a storage shrink below the tensors that lie in it; FSDP frees those of parameters so.
  static bool storage_holds(const at::Tensor& t) {
    if (t.numel() == 0) return true;
    int64_t last = t.storage_offset();
    if (t.is_contiguous()) {
      last += t.numel() - 1;
    } else {
      for (int64_t k = 0; k < t.dim(); ++k) last += (t.size(k) - 1) * t.stride(k);
    }
    const auto needed = static_cast<size_t>(last + 1) * t.element_size();
    return t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()->nbytes() >= needed;
  }

  [[noreturn]] void refuse_storage(const ArgPlan& arg, const at::Tensor& t) const {
    throw Failure(call_error, definition_.full_name + ": argument '" + arg.name + "' of shape " + c10::str(t.sizes()) +
                                  " lies in a storage of only " + std::to_string(t.storage().nbytes()) +
                                  " bytes; it was freed or resized (FSDP frees parameters outside of forward), "
                                  "so its values are gone");
  }

  void add(const at::Tensor& t) {
    // Read-only access would keep copy-on-write memory shared, but which parameters a bare kernel writes is not known.
    void* memory = t.numel() ? t.mutable_data_ptr() : nullptr;
    if (kernel_.by_window) memory = in_window(memory);
    invocation_.tensor(memory, static_cast<int>(t.dim()), t.sizes().data(), t.strides().data(),
                       dtype_code(t.scalar_type()));
  }

  void attribute(const ArgPlan& arg, const c10::IValue& value) {
    ob_arg out{OB_ARG_NONE, 0, {}};
    if (value.isNone()) {
    } else if (arg.kind == Kind::Dtype) {
      out.kind = OB_ARG_DTYPE;
      out.v.i = dtype_code(value.toScalarType());
    } else if (value.isInt()) {
      out.kind = arg.kind == Kind::Bool ? OB_ARG_BOOL : OB_ARG_INT;
      out.v.i = value.toInt();
    } else if (value.isSymInt()) {
      out.kind = OB_ARG_INT;
      out.v.i = value.toSymInt().guard_int(__FILE__, __LINE__);
    } else if (value.isDouble()) {
      out.kind = OB_ARG_FLOAT;
      out.v.d = value.toDouble();
    } else if (value.isBool()) {
      out.kind = OB_ARG_BOOL;
      out.v.i = value.toBool();
    } else if (value.isString()) {
      const std::string& text = value.toStringRef();
      out.kind = OB_ARG_STRING;
      out.count = static_cast<int32_t>(text.size());
      out.v.s = text.c_str();
    } else if (value.isList() && arg.has(kList)) {
      list_attribute(arg, value, out);
    } else {
      throw Failure(call_error, definition_.full_name + ": argument '" + arg.name + "' is a " + value.tagKind() +
                                    ", which kernels cannot be handed" +
                                    (value.isComplexDouble() ? "; pass two floats" : ""));
    }
    if (arg.kind == Kind::Float && out.kind == OB_ARG_INT) {
      out.kind = OB_ARG_FLOAT;
      out.v.d = static_cast<double>(out.v.i);
    }
    invocation_.args.push_back(out);
  }

  void list_attribute(const ArgPlan& arg, const c10::IValue& value, ob_arg& out) {
    out.count = static_cast<int32_t>(value.toListRef().size());
    if (arg.list_size >= 0 && out.count != arg.list_size)
      throw Failure(call_error, definition_.full_name + ": argument '" + arg.name + "' has " +
                                    std::to_string(arg.list_size) + " values in the schema, got " +
                                    std::to_string(out.count));
    if (arg.has(kRows)) {
      ints_.push_back(rows(arg, value));
      out.kind = arg.kind == Kind::Int ? OB_ARG_INT_ROWS : OB_ARG_FLOAT_ROWS;
      out.count = static_cast<int32_t>(ints_.back().size());
      out.v.ints = ints_.back().data();
    } else if (arg.kind == Kind::Int) {
      ints_.emplace_back();
      for (const c10::IValue& item : value.toListRef())
        ints_.back().push_back(item.isInt() ? item.toInt() : item.toSymInt().guard_int(__FILE__, __LINE__));
      out.kind = OB_ARG_INTS;
      out.v.ints = ints_.back().data();
    } else if (arg.kind == Kind::Float) {
      floats_.push_back(value.toDoubleVector());
      out.kind = OB_ARG_FLOATS;
      out.v.floats = floats_.back().data();
    } else if (arg.kind == Kind::Bool) {
      bools_.emplace_back();
      for (const c10::IValue& item : value.toListRef()) bools_.back().push_back(item.toBool());
      out.kind = OB_ARG_BOOLS;
      out.v.bools = bools_.back().data();
    }
  }

  static std::vector<int64_t> rows(const ArgPlan& arg, const c10::IValue& value) {
    const auto rows = value.toListRef();
    std::vector<int64_t> lengths, values;
    for (const c10::IValue& row : rows) {
      lengths.push_back(static_cast<int64_t>(row.toListRef().size()));
      for (const c10::IValue& item : row.toListRef()) {
        const double real = arg.kind == Kind::Float ? item.toDouble() : 0;
        int64_t word = 0;
        std::memcpy(&word, &real, sizeof word);
        values.push_back(arg.kind == Kind::Float ? word : item.toInt());
      }
    }
    std::vector<int64_t> encoded{static_cast<int64_t>(rows.size())};
    encoded.insert(encoded.end(), lengths.begin(), lengths.end());
    encoded.insert(encoded.end(), values.begin(), values.end());
    return encoded;
  }

  // A kernel reads one argument while it writes another: the same memory in both gives results that depend on timing.
  void check_overlap(const c10::IValue* values) {
    const OpPlan& plan = definition_.plan;
    for (size_t i = 0; i < plan.args.size(); ++i) {
      if (!plan.args[i].has(kMutable)) continue;
      each_tensor(values[i], [&](const at::Tensor& written) {
        if (at::has_internal_overlap(written.unsafeGetTensorImpl()) == at::MemOverlap::Yes)
          overlap(plan.args[i].name, "itself: several of its elements are one memory location");
        for (size_t j = 0; j < plan.args.size(); ++j) {
          if (j == i || !plan.args[j].is_tensor()) continue;
          each_tensor(values[j], [&](const at::Tensor& read) {
            if (share_memory(written, read)) overlap(plan.args[i].name, "'" + plan.args[j].name + "'");
          });
        }
      });
      if (!plan.args[i].has(kList)) continue;
      std::vector<at::Tensor> tensors;
      each_tensor(values[i], [&](const at::Tensor& written) { tensors.push_back(written); });
      if (share_memory(tensors))
        throw Failure(call_error, definition_.full_name + ": two tensors of '" + plan.args[i].name +
                                      "', which are written to, share memory; pass a .clone() of one");
    }
  }

  [[noreturn]] void overlap(const std::string& written, const std::string& other) const {
    throw Failure(call_error, definition_.full_name + ": argument '" + written +
                                  "' is written to and shares memory with " + other + "; pass a .clone()");
  }

  const Definition& definition_;
  const DeviceBinding& kernel_;
  KernelHost host_;
  Invocation invocation_;
  bool any_strided_ = false;
  // Keep alive what the invocation points into; deques would do, but these stay empty in most calls.
  std::vector<at::Tensor> held_;
  std::vector<WriteBack> write_backs_;
  std::vector<std::vector<int64_t>> ints_;
  std::vector<std::vector<double>> floats_;
  std::vector<std::vector<uint8_t>> bools_;
};

inline void run_kernel(const Definition& definition, Device which, const c10::IValue* values, Results& results) {
  at::Device device = at::kCPU;
  if (which != kCpu) {
    for (size_t i = 0; i < definition.plan.args.size(); ++i)
      each_tensor(values[i], [&](const at::Tensor& t) {
        if (device.is_cpu()) device = t.device();
      });
  }
  KernelCall(definition, kernel_for(definition, which), device).run(values, results);
}

// The library answers for sizes it can see: a symbolic one becomes the number it stands for.
inline void run_meta_from_kernel(const Definition& definition, const c10::IValue* values, Results& results) {
  KernelCall(definition, kernel_for(definition, kCpu), at::kMeta).describe(values, results);
}

}  // namespace opbridge::torch_adapter

#endif
