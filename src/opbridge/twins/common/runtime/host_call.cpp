#include "host_call.h"

#include <opbridge/abi.h>
#include <opbridge/unwritten.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace opbridge_twins {
namespace {

// For a type with another name: a check that is too lenient is better than a false report.
constexpr size_t kLargestElement = 16;

size_t bytes_of(const char* dtype) {
  for (int32_t code = 0; code < OB_DTYPE_COUNT; ++code) {
    if (strcmp(dtype, ob::detail::dtype_names[code]) == 0) return opbridge::element_bytes(code);
  }
  return strcmp(dtype, "bool_") == 0 ? 1 : kLargestElement;
}

const ob_call* opbridge_host(const void* extra) {
  uint64_t magic = 0;
  if (extra != nullptr) memcpy(&magic, extra, sizeof magic);
  return magic == OB_CALL_MAGIC ? static_cast<const ob_call*>(extra) : nullptr;
}

// What opbridge passes to a kernel, as it does on a GPU.
struct DeviceCall {
  const Lender& lender;
  ob_call call;
  const ob_call* host;
  std::vector<const void*> adopted;

  DeviceCall(const Lender& of_twin, const ob_call* of_host) : lender(of_twin), call(), host(of_host) {
    if (host == nullptr) return;
    memcpy(&call, host, std::min(sizeof call, size_t{host->size}));
    call.device_type = lender.device_type;
    call.parallel = nullptr;
    if (host->scratch != nullptr) {
      call.host = this;
      call.scratch = [](void* self, size_t bytes) { return static_cast<DeviceCall*>(self)->scratch(bytes); };
    }
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;
  ~DeviceCall() {
    for (const void* begin : adopted) lender.release(begin);
  }

  void adopt(const void* begin, size_t bytes, const std::string& name) {
    if (begin == nullptr || bytes == 0) return;
    lender.adopt(begin, bytes, name.c_str());
    adopted.push_back(begin);
  }

  void* scratch(size_t bytes) {
    void* const memory = host->scratch(host->host, bytes);
    adopt(memory, bytes, "ob::scratch");
    return memory;
  }

  // The argument whose tensor this is: a list has several, and the outputs follow all inputs.
  std::string name_of(int param) const {
    if (host == nullptr) return "params[" + std::to_string(param) + "]";
    if (param >= host->n_inputs) return "output " + std::to_string(param - host->n_inputs);
    for (int i = 0; i < host->n_args && host->arg_names != nullptr; ++i) {
      const ob_arg& arg = host->args[i];
      const bool is_list = arg.kind == OB_ARG_TENSORS;
      if (arg.kind != OB_ARG_TENSOR && !is_list) continue;
      const int64_t place = param - arg.v.first;
      if (place < 0 || place >= (is_list ? arg.count : 1)) continue;
      return host->arg_names[i] + (is_list ? "[" + std::to_string(place) + "]" : std::string());
    }
    return "params[" + std::to_string(param) + "]";
  }
};

// The elements that a tensor reaches, from the first to one past the last, relative to its pointer.
struct Reach {
  int64_t begin = 0, end = 1;

  Reach(int ndim, const int64_t* shape, const int64_t* strides) {
    int64_t dense = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      const int64_t last = (shape[i] - 1) * (strides != nullptr ? strides[i] : dense);
      dense *= shape[i];
      (last < 0 ? begin : end) += last;
    }
    if (dense == 0) begin = end = 0;
  }
};

// Maps the tensors of this thread's call during its lifetime.
class Announcement {
 public:
  explicit Announcement(bool& state) : state_(state) { state_ = true; }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;
  ~Announcement() { state_ = false; }

 private:
  bool& state_;
};

// The last tensor of a call by MindSpore, which is an output: its own call cannot tell that a kernel takes other
// element types or ranks.  Calls by opbridge are watched by opbridge.
std::vector<opbridge::WatchedOutput> watched_output(const HostCall& of_host, const void* adopted_by_opbridge) {
  std::vector<opbridge::WatchedOutput> found;
  const int last = of_host.nparam - 1;
  if (adopted_by_opbridge != nullptr || of_host.extra == nullptr || last < 1 || of_host.dtypes == nullptr) return found;
  int64_t count = of_host.params[last] == nullptr ? 0 : 1;
  for (int i = 0; i < of_host.ndims[last]; ++i) count *= of_host.shapes[last][i];
  const size_t bytes = bytes_of(of_host.dtypes[last]);
  if (bytes < kLargestElement && count > 0) found.emplace_back(of_host.params[last], count, bytes);
  return found;
}

std::string what_is_unwritten(const std::vector<opbridge::WatchedOutput>& outputs, const HostCall& of_host) {
  int64_t first = 0;
  const int64_t left = outputs.empty() ? 0 : outputs[0].unwritten(first);
  if (left == 0) return {};
  const int last = of_host.nparam - 1;
  return "the kernel leaves " + std::to_string(left) + " elements of params[" + std::to_string(last) + "] (" +
         of_host.dtypes[last] + ", " + std::to_string(of_host.ndims[last]) +
         " dimensions) unwritten, the first at place " + std::to_string(first) +
         "; pass the element types and ranks that it is written for, or correct out_shape";
}

int tell(const std::string& text, const char* name, void* extra) {
  const ob_call* const host = opbridge_host(extra);
  if (host != nullptr && host->error != nullptr) {
    snprintf(host->error, host->error_size, "%s: %s", name, text.c_str());
    // MindSpore, the other one with something to pass, shows what is thrown, and of a return value only the number.
  } else if (host == nullptr && extra != nullptr) {
    throw std::runtime_error(std::string(name) + ": " + text);
  } else {
    fprintf(stderr, "%s: %s\n", name, text.c_str());
  }
  return 1;
}

}  // namespace

int run_for_host(const Lender& lender, HostFunction function, const char* name, const HostCall& of_host) {
  const auto& [nparam, params, ndims, shapes, dtypes, stream, extra] = of_host;
  // The caller has already announced the tensors, and calls a function that announces them, too.
  static thread_local bool announced = false;
  if (announced) return function(nparam, params, ndims, shapes, dtypes, stream, extra);
  const Announcement until_it_returns(announced);
  // Reports belong to the running call, so only one call runs at a time; its blocks use all processors.
  static std::mutex& under_way = *new std::mutex;
  const std::lock_guard<std::mutex> lock(under_way);
  lender.what_failed();  // what is left of other uses of the device is not this kernel's

  const ob_call* const host = opbridge_host(extra);
  DeviceCall device(lender, host);
  for (int i = 0; i < nparam; ++i) {
    const int64_t* const strides = host != nullptr && host->strides != nullptr ? host->strides[i] : nullptr;
    if (params[i] == nullptr) continue;
    const Reach reach(ndims[i], shapes[i], strides);
    const auto size = static_cast<int64_t>(bytes_of(dtypes != nullptr ? dtypes[i] : ""));
    device.adopt(static_cast<char*>(params[i]) + reach.begin * size,
                 static_cast<size_t>((reach.end - reach.begin) * size), device.name_of(i));
  }
  const std::vector<opbridge::WatchedOutput> outputs = watched_output(of_host, host);
  const int status = function(nparam, params, ndims, shapes, dtypes, stream, host != nullptr ? &device.call : extra);
  std::string failure = lender.what_failed();
  if (failure.empty() && status == 0) failure = what_is_unwritten(outputs, of_host);
  return failure.empty() ? status : tell(failure, name, extra);
}

}  // namespace opbridge_twins
