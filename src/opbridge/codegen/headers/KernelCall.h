// Calls of kernels through the C interface of opbridge/abi.h.
#ifndef OPBRIDGE_CODEGEN_KERNEL_CALL_H
#define OPBRIDGE_CODEGEN_KERNEL_CALL_H

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <dlfcn.h>
#include <opbridge/abi.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "Sizes.h"

namespace {

inline int32_t dtype_code(at::ScalarType type) {
  switch (type) {
#define TYPE(torch_name, name) \
  case at::torch_name:         \
    return OB_##name;
    TYPE(kBool, bool)
    TYPE(kByte, uint8)
    TYPE(kChar, int8)
    TYPE(kUInt16, uint16)
    TYPE(kShort, int16)
    TYPE(kUInt32, uint32)
    TYPE(kInt, int32)
    TYPE(kUInt64, uint64)
    TYPE(kLong, int64)
    TYPE(kHalf, float16)
    TYPE(kBFloat16, bfloat16)
    TYPE(kFloat, float32)
    TYPE(kDouble, float64)
    TYPE(kComplexFloat, complex64)
    TYPE(kComplexDouble, complex128)
#undef TYPE
    default:
      return -1;
  }
}

inline const char* dtype_name(int32_t code) {
  static const char* const names[] = {
#define NAME(code, name, bytes) #name,
      OB_FOR_EACH_DTYPE(NAME)
#undef NAME
  };
  return code < 0 ? "none" : names[code];
}

// A function of a library next to this one.  Each source of kernels becomes a separate library, so that two sources may
// define helpers or kernels of the same name.
class Kernel {
 public:
  Kernel(const char* op, const char* library, const char* symbol) : op(op), symbol(symbol) {
    Dl_info here;
    TORCH_CHECK(dladdr(reinterpret_cast<void*>(&dtype_code), &here), "where this library is cannot be told");
    const ::std::string folder = ::std::string(here.dli_fname);
    const ::std::string path = folder.substr(0, folder.rfind('/') + 1) + library;
    void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    TORCH_CHECK(opened != nullptr, op, ": cannot load ", path, ": ", dlerror());
    function = reinterpret_cast<ob_kernel>(dlsym(opened, symbol));
    TORCH_CHECK(function != nullptr, op, ": ", path, " has no function '", symbol, "'");
    const auto described = dlsym(opened, (::std::string(symbol) + "_ob_signature").c_str());
    if (described == nullptr) return;
    const auto* signature = static_cast<const ob_signature*>(described);
    for (int32_t i = 0; i < signature->n_params; ++i) {
      const ob_param& param = signature->params[i];
      if (param.role != OB_PARAM_OUT && param.role != OB_PARAM_ATTR) strided.push_back(param.flags & OB_PARAM_STRIDED);
    }
  }

  // Whether the kernel reads a tensor argument, by its place among them, where it lies.
  bool takes_strides(size_t place) const { return place < strided.size() && strided[place] != 0; }

  const char* op;
  const char* symbol;
  ob_kernel function;

 private:
  ::std::vector<int32_t> strided;
};

// One call of a kernel; its scratch memory goes when it does, which is after the kernel has returned.
class KernelCall {
 public:
  explicit KernelCall(const Kernel& kernel) : kernel_(kernel) {}
  ~KernelCall() {
    for (void* block : scratch_) ::std::free(block);
  }
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // Tensors and attributes, in the schema's order.
  void tensor(const char* name, const at::Tensor& given, bool is_written = false) {
    const auto first = static_cast<int64_t>(data_.size());
    input(name, given, is_written);
    finish(name, OB_ARG_TENSOR, 1).v.first = first;
  }
  void tensor(const char* name, const ::std::optional<at::Tensor>& given) {
    tensor(name, given.value_or(at::Tensor()));
  }
  template <class List>
  void tensors(const char* name, const List& given, bool is_written = false) {
    const auto first = static_cast<int64_t>(data_.size());
    for (size_t i = 0; i < given.size(); ++i) input(name, one(given[i]), is_written);
    finish(name, OB_ARG_TENSORS, static_cast<int32_t>(given.size())).v.first = first;
  }
  template <class List>
  void tensors(const char* name, const ::std::optional<List>& given) {
    given ? tensors(name, *given) : tensors(name, at::TensorList());
  }

  void value(const char* name, bool given) { next(name, OB_ARG_BOOL).v.i = given; }
  void value(const char* name, int64_t given) { next(name, OB_ARG_INT).v.i = given; }
  void value(const char* name, double given) { next(name, OB_ARG_FLOAT).v.d = given; }
  void value(const char* name, at::ScalarType given) { next(name, OB_ARG_DTYPE).v.i = dtype_code(given); }
  void value(const char* name, const at::Scalar& given) {
    if (given.isFloatingPoint()) return value(name, given.toDouble());
    TORCH_CHECK_TYPE(!given.isComplex(), kernel_.op, ": argument '", name,
                     "' is a ComplexDouble, which kernels cannot be handed; pass two floats");
    given.isBoolean() ? value(name, given.toBool()) : value(name, given.toLong());
  }
  void value(const char* name, c10::string_view given) {
    texts_.emplace_back(given);
    next(name, OB_ARG_STRING, static_cast<int32_t>(given.size())).v.s = texts_.back().c_str();
  }
  void value(const char* name, at::IntArrayRef given) {
    next(name, OB_ARG_INTS, static_cast<int32_t>(given.size())).v.ints = given.data();
  }
  void value(const char* name, at::ArrayRef<double> given) {
    next(name, OB_ARG_FLOATS, static_cast<int32_t>(given.size())).v.floats = given.data();
  }
  template <class List>
  void flags(const char* name, const List& given) {
    bools_.emplace_back();
    for (size_t i = 0; i < given.size(); ++i) bools_.back().push_back(given[i]);
    next(name, OB_ARG_BOOLS, static_cast<int32_t>(given.size())).v.bools = bools_.back().data();
  }
  void value(const char* name, const c10::List<bool>& given) { flags(name, given); }
  template <size_t count>
  void value(const char* name, const ::std::array<bool, count>& given) {
    flags(name, given);
  }
  template <class T>
  void value(const char* name, const ::std::optional<T>& given) {
    given ? value(name, *given) : static_cast<void>(next(name, OB_ARG_NONE));
  }
  void value(const char* name, const at::OptionalIntArrayRef& given) {
    given ? value(name, *given) : static_cast<void>(next(name, OB_ARG_NONE));
  }

  // After the arguments: the operator pairs its tensors element by element.
  void require_equal_shapes() {
    for (size_t i = 1; i < held_.size(); ++i) {
      TORCH_CHECK_TYPE(held_[i].sizes() == held_[0].sizes(), kernel_.op, ": argument '", names_[i], "' has shape ",
                       held_[i].sizes(), ", expected ", held_[0].sizes(), " as '", names_[0],
                       "' has; this operator pairs its inputs element by element and does not broadcast");
    }
  }

  at::Tensor output(const at::Tensor& like) { return added(at::detail::empty_cpu(like.sizes(), like.scalar_type())); }
  at::Tensor output(const Like& like) { return added(at::detail::empty_cpu(concrete(like.sizes), like.type)); }

  void run() {
    char error[8192] = "";
    ob_call call{};
    call.magic = OB_CALL_MAGIC;
    call.version = OB_ABI_VERSION;
    call.size = sizeof call;
    call.op = kernel_.op;
    call.args = args_.data();
    call.n_args = static_cast<int32_t>(args_.size());
    call.n_inputs = static_cast<int32_t>(data_.size()) - outputs_;
    call.dtypes = codes_.data();
    call.strides = any_strided_ ? strides_.data() : nullptr;
    call.device_type = OB_DEVICE_CPU;
    call.host = this;
    call.scratch = &KernelCall::scratch;
    call.parallel = &KernelCall::parallel;
    call.error = error;
    call.error_size = sizeof error;
    call.arg_names = arg_names_.data();
    int status = 0;
    try {
      status = kernel_.function(static_cast<int>(data_.size()), data_.data(), ranks_.data(), shapes_.data(),
                                type_names_.data(), nullptr, &call);
    } catch (const ::std::exception& thrown) {
      TORCH_CHECK(false, kernel_.op, ": kernel ", kernel_.symbol, " threw: ", thrown.what());
    } catch (...) {
      TORCH_CHECK(false, kernel_.op, ": kernel ", kernel_.symbol, " threw something that is not a std::exception");
    }
    // A kernel begins its message with its own name, which the operator's name before it makes superfluous.
    const ::std::string prefix = ::std::string(kernel_.symbol) + ": ";
    const ::std::string message = error;
    TORCH_CHECK(status == 0 || message.empty(), kernel_.op, ": ",
                message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : message);
    TORCH_CHECK(status == 0, kernel_.op, ": kernel ", kernel_.symbol, " returned ", status,
                " (0 means success) and left no message");
    for (const auto& [destination, copy] : write_backs_) destination.copy_(copy);
  }

 private:
  static at::Tensor one(const at::Tensor& tensor) { return tensor; }
  static at::Tensor one(const ::std::optional<at::Tensor>& tensor) { return tensor.value_or(at::Tensor()); }

  void input(const char* name, const at::Tensor& given, bool is_written) {
    if (!given.defined()) return add(at::Tensor());
    TORCH_CHECK_NOT_IMPLEMENTED(given.layout() == at::kStrided, kernel_.op, ": argument '", name, "' is a ",
                                given.layout(), " tensor; kernels take dense ones, call .to_dense() first");
    TORCH_CHECK_NOT_IMPLEMENTED(dtype_code(given.scalar_type()) >= 0, kernel_.op, ": argument '", name,
                                "' is of dtype ", given.scalar_type(),
                                ", which no kernel reads; convert it with .to(...) first");
    TORCH_CHECK_TYPE(given.is_cpu(), kernel_.op, ": argument '", name, "' is on ", given.device(),
                     ", the others are on cpu; move it there with .to(\"cpu\")");
    const bool strided = kernel_.takes_strides(place_);
    any_strided_ |= strided;
    const at::Tensor used = strided || given.is_contiguous() ? given : given.contiguous();
    if (is_written) {
      written(name, given);
      if (!used.is_same(given)) write_backs_.emplace_back(given, used);
    }
    for (const auto& [other, tensor] : written_) {
      if (!tensor.is_same(given) || !is_written) check_apart(other, tensor, name, given);
    }
    held_.push_back(used);
    given_.emplace_back(name, given);
    names_.push_back(name);
    add(used);
  }

  void written(const char* name, const at::Tensor& given) {
    TORCH_CHECK_TYPE(at::has_internal_overlap(given.unsafeGetTensorImpl()) != at::MemOverlap::Yes, kernel_.op,
                     ": argument '", name,
                     "' is written to and shares memory with itself: several of its elements are "
                     "one memory location; pass a .clone()");
    for (const auto& [other, tensor] : given_) check_apart(name, given, other, tensor);
    written_.emplace_back(name, given);
  }

  void check_apart(const char* name, const at::Tensor& tensor, const char* other, const at::Tensor& read) const {
    const auto status = at::get_overlap_status(tensor, read);
    TORCH_CHECK_TYPE(status != at::MemOverlapStatus::Partial && status != at::MemOverlapStatus::Full, kernel_.op,
                     ": argument '", name, "' is written to and shares memory with '", other, "'; pass a .clone()");
  }

  at::Tensor added(at::Tensor made) {
    ++outputs_;
    held_.push_back(made);
    add(made);
    return made;
  }

  void add(const at::Tensor& tensor) {
    const bool is_there = tensor.defined();
    data_.push_back(is_there && tensor.numel() ? tensor.mutable_data_ptr() : nullptr);
    ranks_.push_back(is_there ? static_cast<int>(tensor.dim()) : 0);
    shapes_.push_back(is_there ? const_cast<int64_t*>(tensor.sizes().data()) : nullptr);
    strides_.push_back(is_there ? const_cast<int64_t*>(tensor.strides().data()) : nullptr);
    codes_.push_back(is_there ? dtype_code(tensor.scalar_type()) : -1);
    type_names_.push_back(dtype_name(codes_.back()));
  }

  ob_arg& next(const char* name, int32_t kind, int32_t count = 0) {
    arg_names_.push_back(name);
    args_.push_back({kind, count, {0}});
    return args_.back();
  }
  ob_arg& finish(const char* name, int32_t kind, int32_t count) {
    ++place_;
    return next(name, kind, count);
  }

  static void* scratch(void* self, size_t bytes) noexcept try {
    auto& blocks = static_cast<KernelCall*>(self)->scratch_;
    blocks.reserve(blocks.size() + 1);
    void* block = bytes > SIZE_MAX / 2 ? nullptr : ::std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (block != nullptr) blocks.push_back(block);
    return block;
  } catch (const ::std::bad_alloc&) {
    return nullptr;
  }

  static void parallel(void*, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* state) {
    at::parallel_for(0, n, ::std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) { body(state, begin, end); });
  }

  const Kernel& kernel_;
  ::std::vector<ob_arg> args_;
  ::std::vector<const char*> arg_names_, names_, type_names_;
  ::std::vector<void*> data_, scratch_;
  ::std::vector<int> ranks_;
  ::std::vector<int64_t*> shapes_, strides_;
  ::std::vector<int32_t> codes_;
  ::std::vector<at::Tensor> held_;
  ::std::vector<::std::pair<const char*, at::Tensor>> given_, written_;
  ::std::vector<::std::pair<at::Tensor, at::Tensor>> write_backs_;
  ::std::deque<::std::string> texts_;
  ::std::deque<::std::vector<uint8_t>> bools_;
  size_t place_ = 0;
  int32_t outputs_ = 0;
  bool any_strided_ = false;
};

// A rule, whose errors say whose they are.
template <class Rule>
inline Like named(const char* op, Rule rule) try {
  return rule();
} catch (const c10::ValueError& error) {
  TORCH_CHECK_TYPE(false, op, ": ", error.what_without_backtrace());
} catch (const c10::IndexError& error) {
  TORCH_CHECK_TYPE(false, op, ": ", error.what_without_backtrace());
}

inline at::Tensor on_meta(const at::Tensor& like) {
  return at::empty_symint(like.sym_sizes(), at::TensorOptions().dtype(like.scalar_type()).device(at::kMeta));
}
inline at::Tensor on_meta(const Like& like) {
  return at::empty_symint(like.sizes, at::TensorOptions().dtype(like.type).device(at::kMeta));
}

// Where an operator writes without returning what it wrote, no gradient can follow.
inline void refuse_gradient(const char* op, const char* name, const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(!c10::GradMode::is_enabled() || !tensor.requires_grad(), op, " writes to '", name,
                              "' without returning it, so no gradient can follow; call it under torch.no_grad()");
}

}  // namespace

#endif
