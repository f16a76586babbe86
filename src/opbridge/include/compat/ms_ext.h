/* MindSpore's parameters as PyTorch's tensors, for kernels that call PyTorch's operators from an aot function:
 *
 *   auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
 *   torch::elu_out(tensors[1], tensors[0]);
 *
 * Nothing is copied: a tensor is a view of MindSpore's memory and must not outlive the call.  What cannot be viewed is
 * said in a std::runtime_error, whose text reaches the Python that called the operator.
 */
#ifndef OPBRIDGE_MS_EXT_H
#define OPBRIDGE_MS_EXT_H

#include <c10/core/StreamGuard.h>
#include <dlfcn.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ms_ext {

// A MindSpore type name and its element type.
struct Dtype {
  const char* name;
  at::ScalarType type;
};

/* Every name under which MindSpore passes an element type; it differs between its modes for bool. */
inline constexpr Dtype kDtypes[] = {
    {"float32", at::kFloat},
    {"float16", at::kHalf},
    {"bfloat16", at::kBFloat16},
    {"float64", at::kDouble},
    {"int64", at::kLong},
    {"int32", at::kInt},
    {"int16", at::kShort},
    {"int8", at::kChar},
    {"uint8", at::kByte},
    {"uint16", at::kUInt16},
    {"uint32", at::kUInt32},
    {"uint64", at::kUInt64},
    {"bool", at::kBool},
    {"bool_", at::kBool},
    {"complex64", at::kComplexFloat},
    {"complex128", at::kComplexDouble},
    {"float8_e4m3fn", at::kFloat8_e4m3fn},
    {"float8_e5m2", at::kFloat8_e5m2},
    {"float", at::kFloat},
    {"double", at::kDouble},
    {"half", at::kHalf},
    {"int", at::kInt},
    {"uint", at::kUInt32},
};

inline std::optional<at::ScalarType> scalar_type(const char* name) {
  for (const Dtype& dtype : kDtypes) {
    if (std::strcmp(dtype.name, name) == 0) return dtype.type;
  }
  return std::nullopt;
}

/* What keeps the PyTorch in this process from being used; empty where nothing does.  Classes change their layout from
 * one version to the next, so a library that meets another PyTorch than its own would crash rather than fail. */
inline std::string mismatch() {
  c10::Allocator* (*in_torch)(const c10::DeviceType&) = &c10::GetAllocator;
  Dl_info library;
  if (dladdr(reinterpret_cast<void*>(in_torch), &library) == 0 || library.dli_fname == nullptr) return "";
  const std::string path = library.dli_fname, built_for = TORCH_VERSION;
  const auto lib = path.rfind("/lib/");
  if (lib == std::string::npos) return "";
  const std::string folder = path.substr(0, lib), key = "__version__ = '";
  std::ifstream file(folder + "/version.py");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::string found = line.substr(key.size(), line.find('\'', key.size()) - key.size());
    const bool same =
        found.compare(0, built_for.size(), built_for) == 0 &&
        (found.size() == built_for.size() || std::strchr("0123456789", found[built_for.size()]) == nullptr);
    if (same) return "";
    return "this library was compiled for PyTorch " + built_for + " and finds " + found + " in " + folder +
           "; compile it again: opbridge compile SOURCE LIBRARY.so";
  }
  return "";
}

}  // namespace ms_ext

inline std::vector<at::Tensor> get_torch_tensors(int nparam, void** params, int* ndims, int64_t** shapes,
                                                 const char** dtypes, c10::Device device) {
  static const std::string mismatch = ms_ext::mismatch();
  if (!mismatch.empty()) throw std::runtime_error(mismatch);
  std::vector<at::Tensor> tensors;
  tensors.reserve(static_cast<size_t>(nparam));
  for (int i = 0; i < nparam; ++i) {
    const std::string which = "get_torch_tensors: parameter " + std::to_string(i);
    const auto type = ms_ext::scalar_type(dtypes[i]);
    if (!type) throw std::runtime_error(which + " has the type " + dtypes[i] + ", which PyTorch has no tensors of");
    const at::IntArrayRef shape(shapes[i], static_cast<size_t>(ndims[i]));
    if (params[i] == nullptr && c10::multiply_integers(shape) != 0) {
      throw std::runtime_error(which + " has no data on " + c10::DeviceTypeName(device.type()));
    }
    tensors.push_back(at::from_blob(params[i], shape, at::TensorOptions().dtype(*type).device(device)));
  }
  return tensors;
}

/* Sends PyTorch's work to the host's stream while it lives, so that nobody has to wait for another stream:
 *
 *   torch_stream_guard guard(stream, c10::kCUDA);
 */
class torch_stream_guard {
 public:
  torch_stream_guard(void* stream, c10::Device device) {
    if (device.is_cpu()) return;
    const c10::impl::VirtualGuardImpl devices(device.type());
    const c10::Device here = device.has_index() ? device : devices.getDevice();
    // PyTorch's number for a stream that it did not make is the stream's address.
    guard_.emplace(c10::Stream(c10::Stream::UNSAFE, here, reinterpret_cast<c10::StreamId>(stream)));
  }

 private:
  std::optional<c10::StreamGuard> guard_;
};

#endif
