#include "device.h"

#ifdef OPBRIDGE_SIMULATES_CUDA
#include <ATen/detail/CUDAHooksInterface.h>
#else
#include <ATen/detail/PrivateUse1HooksInterface.h>
#endif
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#ifdef OPBRIDGE_SIMULATES_CUDA
#include <cuda_runtime_api.h>

#include "cuda/accelerator.h"
#endif

#include <array>
#include <chrono>
#include <new>
#include <vector>

#include "memory.h"

namespace opbridge::simulated {
namespace {

c10::DeviceIndex count_of_devices = 0;
thread_local c10::DeviceIndex current = 0;
thread_local std::array<c10::StreamId, kMostDevices> current_streams{};

#ifdef OPBRIDGE_SIMULATES_CUDA
constexpr const char* kMoreDevices = "; the CUDA twin is one device";
#else
constexpr const char* kMoreDevices = ", or set OPBRIDGE_NPU_DEVICES to more before opbridge.npu is imported";
#endif

void check_index(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < count_of_devices, kName, ":", static_cast<int>(index),
              " is not there: expected 0 to ", count_of_devices - 1, kMoreDevices);
}

// All work of a stream is done when the call that gave it returns, so an event is a moment.
struct Moment {
  std::chrono::steady_clock::time_point time;
};

// PyTorch's way to the current device and stream; it keeps nothing itself, so that any copy of it will do.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {kDevice, current}; }
  void setDevice(c10::Device device) const override {
    check_index(device.index());
    current = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = device.index(); }
  c10::DeviceIndex deviceCount() const noexcept override { return count_of_devices; }

  c10::Stream getStream(c10::Device device) const override {
    const auto index = device.has_index() ? device.index() : current;
    check_index(index);
    return stream(current_streams[static_cast<size_t>(index)], index);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream(0, device.has_index() ? device.index() : current);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getNewStream(device, 0); }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return stream(new_stream(priority), device.has_index() ? device.index() : current);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    const c10::Stream before = getStream(to.device());
    current_streams[static_cast<size_t>(to.device_index())] = to.id();
    return before;
  }
  // Part of PyTorch's interface in newer versions.
  void* getStreamNativeHandle(const c10::Stream given) const { return reinterpret_cast<void*>(given.id()); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { throw_errors(); }
  void synchronizeDevice(c10::DeviceIndex index) const override {
    if (index >= 0) check_index(index);
    throw_errors();
  }

  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new Moment;
    static_cast<Moment*>(*event)->time = std::chrono::steady_clock::now();
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<Moment*>(event); }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { throw_errors(); }
  double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
    TORCH_CHECK(from != nullptr && to != nullptr, "elapsed_time: record both events first");
    const auto between = static_cast<Moment*>(to)->time - static_cast<Moment*>(from)->time;
    return std::chrono::duration<double, std::milli>(between).count();
  }

 private:
  static c10::Stream stream(c10::StreamId id, c10::DeviceIndex index) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDevice, index), id);
  }
};

// Draws the numbers of a generator of the CPU, because kernels of the CPU ask for one.
class Generator final : public c10::GeneratorImpl {
 public:
  Generator(c10::DeviceIndex device, at::Generator numbers)
      : GeneratorImpl(c10::Device(kDevice, device), c10::DispatchKeySet(kKey)), numbers_(std::move(numbers)) {}

  void set_current_seed(uint64_t seed) override { numbers_.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { numbers_.set_offset(offset); }
  uint64_t get_offset() const override { return numbers_.get_offset(); }
  uint64_t current_seed() const override { return numbers_.current_seed(); }
  uint64_t seed() override { return numbers_.seed(); }
  void set_state(const c10::TensorImpl& state) override { numbers_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return numbers_.unsafeGetGeneratorImpl()->get_state();
  }
  const at::Generator& numbers() const { return numbers_; }

 private:
  Generator* clone_impl() const override { return new Generator(device_.index(), numbers_.clone()); }

  at::Generator numbers_;
};

at::Generator new_generator(c10::DeviceIndex index) {
  return at::make_generator<Generator>(index < 0 ? current : index, at::detail::createCPUGenerator());
}

// Never destroyed, as PyTorch's own are not.
std::vector<at::Generator>& generators() {
  static auto& all = *new std::vector<at::Generator>;
  return all;
}

#ifdef OPBRIDGE_SIMULATES_CUDA
using HooksInterface = at::CUDAHooksInterface;
#else
using HooksInterface = at::PrivateUse1HooksInterface;
#endif

// What PyTorch asks of a device.
struct Hooks : HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return count_of_devices; }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    check_index(device);
    current = device;
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const c10::DeviceIndex before = current;
    setCurrentDevice(device);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? current : exchangeDevice(device);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override { return default_generator(device); }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override { return new_generator(device); }
  at::Device getDeviceFromPtr(void* address) const override {
    const c10::DeviceIndex device = device_at(address);
    TORCH_CHECK(device >= 0, address, " is not an address of a device ", kName);
    return {kDevice, device};
  }
  bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory(); }
};

#ifdef OPBRIDGE_SIMULATES_CUDA
// What PyTorch asks of CUDA alone.
struct OwnHooks final : Hooks {
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  c10::DeviceIndex current_device() const override { return current; }
  at::Allocator* getCUDADeviceAllocator() const override { return &device_memory(); }
  int getNumGPUs() const override { return count_of_devices; }
  long versionCUDART() const override { return CUDART_VERSION; }
  std::string showConfig() const override { return "the CUDA twin of opbridge"; }
  void deviceSynchronize(c10::DeviceIndex) const override { throw_errors(); }
};

// PyTorch's library for Python asks for CUDA's hooks while it is imported, and keeps the object that says there are
// none. That has no data, as ours has none: ours takes its place.
void register_hooks() {
  static_assert(sizeof(OwnHooks) == sizeof(at::CUDAHooksInterface));
  new (const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks())) OwnHooks;
  be_no_accelerator_beside_another();
}
#else
struct OwnHooks final : Hooks {
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage, bytes);
  }
};

void register_hooks() { at::RegisterPrivateUse1HooksInterface(new OwnHooks); }
#endif

}  // namespace

void resize_storage(const c10::Storage& storage, size_t bytes) {
  c10::StorageImpl& held = *storage.unsafeGetStorageImpl();
  const c10::DeviceGuard guard(held.device());
  c10::DataPtr fresh = device_memory().allocate(bytes);
  const size_t kept = std::min(bytes, held.nbytes());
  if (kept > 0) device_memory().copy_data(fresh.get(), held.data(), kept);
  held.set_data_ptr_noswap(std::move(fresh));
  held.set_nbytes(bytes);
}

void set_up_devices(c10::DeviceIndex count) {
  count_of_devices = count;
  for (c10::DeviceIndex index = 0; index < count; ++index) generators().push_back(new_generator(index));
  c10::impl::registerDeviceGuard(kDevice, new Guard);
  register_hooks();
}

c10::DeviceIndex device_count() { return count_of_devices; }
c10::DeviceIndex current_device() { return current; }

const at::Generator& default_generator(c10::DeviceIndex device) {
  if (device < 0) device = current;
  check_index(device);
  return generators()[static_cast<size_t>(device)];
}

at::Generator numbers_of(const at::Generator& generator) {
  return static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->numbers();
}

}  // namespace opbridge::simulated
