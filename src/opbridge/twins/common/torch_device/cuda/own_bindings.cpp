// What torch.cuda asks for; torch.accelerator may mean another device of the process.
#include "../own_bindings.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/tensor_new.h>

#include "../device.h"
#include "../memory.h"
#include "operator_record.h"

namespace opbridge::simulated {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;

const c10::impl::DeviceGuardImplInterface& guard() { return *c10::impl::getDeviceGuardImpl(kDevice); }
c10::Device device_now() { return guard().getDevice(); }

py::dict as_dict(const Stat& stat) {
  py::dict made;
  made["current"] = stat.current;
  made["peak"] = stat.peak;
  made["allocated"] = stat.allocated;
  made["freed"] = stat.freed;
  return made;
}

py::dict as_dict(const StatArray& stats) {
  py::dict made;
  made["all"] = as_dict(stats[0]);
  made["small_pool"] = as_dict(stats[1]);
  made["large_pool"] = as_dict(stats[2]);
  return made;
}

// Has the names of torch.cuda.memory_stats_as_nested_dict.
py::dict memory_stats() {
  const auto stats = device_memory().getDeviceStats(0);
  py::dict made;
  made["num_alloc_retries"] = stats.num_alloc_retries;
  made["num_ooms"] = stats.num_ooms;
  made["num_device_alloc"] = stats.num_device_alloc;
  made["num_device_free"] = stats.num_device_free;
  made["allocation"] = as_dict(stats.allocation);
  made["segment"] = as_dict(stats.segment);
  made["active"] = as_dict(stats.active);
  made["inactive_split"] = as_dict(stats.inactive_split);
  made["allocated_bytes"] = as_dict(stats.allocated_bytes);
  made["reserved_bytes"] = as_dict(stats.reserved_bytes);
  made["active_bytes"] = as_dict(stats.active_bytes);
  made["inactive_split_bytes"] = as_dict(stats.inactive_split_bytes);
  made["requested_bytes"] = as_dict(stats.requested_bytes);
  // Nothing is too large for a cache that is none.
  made["oversize_allocations"] = as_dict(Stat{});
  made["oversize_segments"] = as_dict(Stat{});
  return made;
}

// Has the names of torch.cuda.get_device_properties.
py::dict properties() {
  cudaDeviceProp asked;
  cudaGetDeviceProperties(&asked, 0);
  py::dict made;
  made["name"] = asked.name;
  made["major"] = asked.major;
  made["minor"] = asked.minor;
  made["total_memory"] = asked.totalGlobalMem;
  made["multi_processor_count"] = asked.multiProcessorCount;
  made["max_threads_per_multi_processor"] = asked.maxThreadsPerMultiProcessor;
  made["max_threads_per_block"] = asked.maxThreadsPerBlock;
  made["warp_size"] = asked.warpSize;
  made["regs_per_multiprocessor"] = asked.regsPerMultiprocessor;
  made["shared_memory_per_block"] = asked.sharedMemPerBlock;
  made["shared_memory_per_block_optin"] = asked.sharedMemPerBlockOptin;
  made["shared_memory_per_multiprocessor"] = asked.sharedMemPerMultiprocessor;
  made["L2_cache_size"] = asked.l2CacheSize;
  return made;
}

// torch.cuda.IntTensor(2, 3): what PyTorch has there says that it was built without CUDA.
PyObject* new_tensor(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  const py::object dtype = py::handle(reinterpret_cast<PyObject*>(type)).attr("dtype");
  const at::ScalarType scalar = reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type;
  return THPVariable_Wrap(torch::utils::legacy_tensor_ctor(c10::DispatchKey::CUDA, scalar, args, kwargs));
  END_HANDLE_TH_ERRORS
}

}  // namespace

void add_own_bindings(py::module_& m) {
  m.def("record_operators", &record_operators);
  m.def("call_an_operator", &call_an_operator);
  m.def("current_device", [] { return static_cast<int>(current_device()); });
  m.def("set_device", [](int device) { guard().setDevice({kDevice, static_cast<c10::DeviceIndex>(device)}); });
  m.def("synchronize", [] { guard().synchronizeDevice(0); });
  m.def("current_stream", [] { return guard().getStream(device_now()).id(); });
  m.def("set_stream", [](int64_t id) { guard().exchangeStream(c10::Stream(c10::Stream::UNSAFE, device_now(), id)); });
  m.def("new_stream", [](int priority) { return guard().getNewStream(device_now(), priority).id(); });
  m.def("memory_stats", memory_stats);
  m.def("memory_info", [] { return device_memory().getMemoryInfo(0); });
  m.def("reset_peak_memory_stats", [] { device_memory().resetPeakStats(0); });
  m.def("reset_accumulated_memory_stats", [] { device_memory().resetAccumulatedStats(0); });
  m.def("properties", properties);
  m.def("let_make_tensors", [](py::type type) { reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new = new_tensor; });
}

}  // namespace opbridge::simulated
