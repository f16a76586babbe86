// Assembles one kernel call: the arrays of the C call and the block that `extra` points to.  Operators of ordinary size
// need no heap allocation.
#ifndef OPBRIDGE_NATIVE_INVOKE_H
#define OPBRIDGE_NATIVE_INVOKE_H

#include <opbridge/abi.h>
#include <opbridge/unwritten.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aot_kernel.h"
#include "floating_point_mode.h"
#include "plan.h"
#include "rule_vm.h"

namespace opbridge {

// A vector that keeps its first N elements in place.
template <class T, size_t N>
class Small {
 public:
  Small() = default;
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

  void push_back(T value) { append() = std::move(value); }

  // A new element to fill in place.  An ob_arg put together on the stack and then copied as a whole makes the processor
  // wait for its parts, which shows in a call of 100 ns.
  T& append() {
    if (size_ < N) return inline_[size_++];
    if (spilled_.empty()) spilled_.assign(inline_, inline_ + N);
    spilled_.emplace_back();
    ++size_;
    return spilled_.back();
  }
  T* data() { return spilled_.empty() ? inline_ : spilled_.data(); }
  size_t size() const { return size_; }

 private:
  T inline_[N];
  size_t size_ = 0;
  std::vector<T> spilled_;
};

// Memory for ob::scratch, given back when the call returns.
class ScratchArena {
 public:
  ScratchArena() = default;
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;
  ~ScratchArena() {
    for (void* block : blocks_) std::free(block);
  }
  void* take(size_t bytes) noexcept try {
    if (bytes > SIZE_MAX / 2) return nullptr;
    blocks_.reserve(blocks_.size() + 1);
    void* block = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (block) blocks_.push_back(block);
    return block;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

 private:
  std::vector<void*> blocks_;
};

// A kernel as an operator uses it.
struct Binding {
  ob_kernel function = nullptr;
  const ob_signature* signature = nullptr;  // null for a bare aot function
  AotKernel* aot = nullptr;                 // where the library is written to MindSpore's attribute block
  std::string symbol;
  // One flag for each tensor argument in schema order: whether the kernel asked for strides.
  std::vector<char> strided;
  std::vector<const char*> arg_names;  // of the operator it was bound to
  // Null for a kernel that describes itself: its element types and ranks are checked.
  std::shared_ptr<KnownKinds> kinds;
};

// What the host gives a kernel beyond its arguments.
struct HostServices {
  void* (*scratch)(void*, size_t) = nullptr;
  void (*parallel)(void*, int64_t, int64_t, void (*)(void*, int64_t, int64_t), void*) = nullptr;
  void* host = nullptr;
  void* stream = nullptr;
  int32_t device_type = OB_DEVICE_CPU;
  int32_t device_index = 0;
};

// A kernel begins its message with its own name, which the operator's name before it makes superfluous.
inline std::string without_prefix(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0 ? text.substr(prefix.size()) : text;
}

// PyTorch's exceptions end with the C++ frames of their origin, which tell the user of an operator nothing.
inline std::string without_frames(const std::string& text) {
  return text.substr(0, std::min(text.find("\nException raised from "), text.find("\nframe #0: ")));
}

// The length of a kernel's error message; reports of a twin have several lines each.
inline constexpr size_t kLongestMessage = 8192;

// How a message about unequal shapes ends.
inline constexpr const char* kPairsElements =
    "; this operator pairs its inputs element by element and does not broadcast";

// One C call while it is put together; filled in the schema's order, inputs before outputs, and used once.
class Invocation {
 public:
  Small<ob_arg, 8> args;

  void tensor(void* data, int ndim, const int64_t* shape, const int64_t* strides, int32_t dtype) {
    params_.push_back(data);
    ndims_.push_back(ndim);
    shapes_.push_back(const_cast<int64_t*>(shape));
    strides_.push_back(const_cast<int64_t*>(strides));
    codes_.push_back(dtype);
    names_.push_back(dtype < 0 ? "none" : dtype_name(dtype));
  }
  void missing_tensor() { tensor(nullptr, 0, nullptr, nullptr, -1); }
  int64_t tensor_count() const { return static_cast<int64_t>(params_.size()); }
  void inputs_end() { inputs_ = static_cast<int32_t>(params_.size()); }

  // The first input whose shape is not that of the first one; -1 where all agree.
  int64_t odd_shape() {
    int64_t first = -1;
    for (int64_t i = 0; i < tensor_count(); ++i) {
      if (codes_.data()[i] < 0) continue;
      if (first < 0) first = i;
      const int n = ndims_.data()[i];
      if (n != ndims_.data()[first] || !std::equal(shapes_.data()[i], shapes_.data()[i] + n, shapes_.data()[first]))
        return i;
    }
    return -1;
  }
  std::string shape_of(int64_t i) {
    SmallShape<int64_t> shape;
    for (int k = 0; k < ndims_.data()[i]; ++k) shape.push(shapes_.data()[i][k]);
    return shape_text(shape);
  }
  // Why an operator that pairs its inputs element by element cannot take these.
  std::string unequal_shapes(const OpPlan& op) {
    const int64_t odd = odd_shape();
    if (odd < 0) return {};
    std::string odd_name, first_name;
    int64_t first = -1;
    for (size_t i = 0; i < op.args.size(); ++i) {
      const ob_arg& use = args.data()[i];
      if (use.kind != OB_ARG_TENSOR && use.kind != OB_ARG_TENSORS) continue;
      for (int64_t k = use.v.first; k < use.v.first + use.count; ++k) {
        const std::string name =
            use.kind == OB_ARG_TENSOR ? op.args[i].name : op.args[i].name + "[" + std::to_string(k - use.v.first) + "]";
        if (first < 0 && codes_.data()[k] >= 0) {
          first = k;
          first_name = name;
        }
        if (k == odd) odd_name = name;
      }
    }
    return "argument '" + odd_name + "' has shape " + shape_of(odd) + ", expected " + shape_of(first) + " as '" +
           first_name + "' has" + kPairsElements;
  }

  // Empty on success, otherwise what went wrong.  The operator's name is in the message.
  std::string run(const Binding& kernel, const char* op, const HostServices& host, bool pass_strides) {
    char error[kLongestMessage];
    ob_call call = block(kernel, op, host, error, sizeof error);
    if (pass_strides) call.strides = strides_.data();
    const int count = static_cast<int>(params_.size());
    std::vector<WatchedOutput> outputs = watched(kernel, host, pass_strides);
    int status;
    try {
      const KeptFloatingPointMode kept;
      status = kernel.aot ? kernel.aot->run(call, count, params_.data(), ndims_.data(), shapes_.data(), names_.data(),
                                            host.stream)
                          : kernel.function(count, params_.data(), ndims_.data(), shapes_.data(), names_.data(),
                                            host.stream, &call);
    } catch (const std::exception& thrown) {
      return std::string(op) + ": kernel " + kernel.symbol + " threw: " + without_frames(thrown.what());
    } catch (...) {
      return std::string(op) + ": kernel " + kernel.symbol + " threw something that is not a std::exception";
    }
    if (status == 0) return outputs.empty() ? std::string() : unwritten(outputs, op, kernel.symbol);
    if (error[0]) return std::string(op) + ": " + without_frames(without_prefix(error, kernel.symbol + ": "));
    return std::string(op) + ": kernel " + kernel.symbol + " returned " + std::to_string(status) +
           " (0 means success) and left no message";
  }

  // Asks the library for the outputs of an operator; otherwise like `run`.  If an input has an unknown size, outputs
  // may have one, too.
  std::string infer(const Binding& kernel, const OpPlan& op, std::vector<AotKernel::Output>& outputs) {
    outputs.resize(static_cast<size_t>(
        std::count_if(op.outs.begin(), op.outs.end(), [](const OutPlan& out) { return out.from_kernel(); })));
    const std::string name = op.full_name();
    char error[kLongestMessage];
    const ob_call call = block(kernel, name.c_str(), {}, error, sizeof error);
    if (kernel.aot->infer(call, ndims_.data(), shapes_.data(), outputs)) return name + ": " + without_frames(error);
    for (const AotKernel::Output& output : outputs)
      if (known_sizes() && std::any_of(output.shape.begin(), output.shape.end(), [](int64_t size) { return size < 0; }))
        return name + ": " + kernel.symbol + "InferShape gives a negative size for inputs whose sizes are all known";
    return {};
  }

 private:
  bool known_sizes() {
    for (int64_t i = 0; i < tensor_count(); ++i)
      for (int k = 0; k < ndims_.data()[i]; ++k)
        if (shapes_.data()[i][k] < 0) return false;
    return true;
  }

  int64_t elements(int64_t i) {
    int64_t count = codes_.data()[i] < 0 ? 0 : 1;
    for (int k = 0; k < ndims_.data()[i]; ++k) count *= shapes_.data()[i][k];
    return count;
  }

  // Element types, ranks and orders of magnitude of all tensors, in a number that is not 0.
  uint64_t kind() {
    uint64_t found = 1;
    for (int64_t i = 0; i < tensor_count(); ++i) {
      const auto count = static_cast<uint64_t>(elements(i));
      const int magnitude = count ? 64 - __builtin_clzll(count) : 0;
      found = found * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(codes_.data()[i] + 2) * 4096 +
              static_cast<uint64_t>(ndims_.data()[i]) * 64 + static_cast<uint64_t>(magnitude);
    }
    return found ? found : 1;
  }

  // The outputs of a call whose kind was not seen before, filled with a pattern.
  std::vector<WatchedOutput> watched(const Binding& kernel, const HostServices& host, bool pass_strides) {
    std::vector<WatchedOutput> found;
    if (!kernel.kinds || host.device_type != OB_DEVICE_CPU || pass_strides || !kernel.kinds->is_new(kind()))
      return found;
    for (int64_t i = inputs_; i < tensor_count(); ++i)
      found.emplace_back(params_.data()[i], elements(i), element_bytes(codes_.data()[i]));
    return found;
  }

  std::string unwritten(const std::vector<WatchedOutput>& outputs, const char* op, const std::string& symbol) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      int64_t first = 0;
      const int64_t left = outputs[i].unwritten(first);
      if (left == 0) continue;
      const int64_t place = inputs_ + static_cast<int64_t>(i);
      return std::string(op) + ": kernel " + symbol + " leaves " + std::to_string(left) + " of the " +
             std::to_string(elements(place)) + " elements of output " + std::to_string(i) + " (" +
             names_.data()[place] + " of shape " + shape_of(place) + ") unwritten, the first at place " +
             std::to_string(first) +
             "; pass the element types and ranks that it is written for, or correct the `out` rule";
    }
    return {};
  }

  ob_call block(const Binding& kernel, const char* op, const HostServices& host, char* error, size_t error_size) {
    error[0] = '\0';
    ob_call call{};
    call.magic = OB_CALL_MAGIC;
    call.version = OB_ABI_VERSION;
    call.size = sizeof call;
    call.op = op;
    call.args = args.data();
    call.n_args = static_cast<int32_t>(args.size());
    call.n_inputs = inputs_;
    call.dtypes = codes_.data();
    call.device_type = host.device_type;
    call.device_index = host.device_index;
    call.host = host.host;
    call.scratch = host.scratch;
    call.parallel = host.parallel;
    call.error = error;
    call.error_size = error_size;
    call.arg_names = kernel.arg_names.data();
    return call;
  }

  Small<void*, 8> params_;
  Small<int, 8> ndims_;
  Small<int64_t*, 8> shapes_;
  Small<int64_t*, 8> strides_;
  Small<int32_t, 8> codes_;
  Small<const char*, 8> names_;
  int32_t inputs_ = 0;
};

}  // namespace opbridge

#endif
