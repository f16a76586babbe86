// Operators without a kernel of the device's own: PyTorch's for the CPU, on the device's memory.
#include "fallback.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device.h"
#include "lent_tensors.h"

namespace opbridge::simulated {
namespace {

using c10::IValue;
using Stack = torch::jit::Stack;

template <class Visit>
void each_tensor(const IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector())
      if (tensor.defined()) visit(tensor);
  } else if (value.isList()) {
    for (const IValue& item : value.toListRef()) each_tensor(item, visit);
  }
}

template <class Map>
void map_tensors(IValue& value, Map&& map) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) value = map(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> mapped;
    for (const at::Tensor& tensor : value.toTensorVector()) mapped.push_back(tensor.defined() ? map(tensor) : tensor);
    value = std::move(mapped);
  } else if (value.isList() && value.type()->containedType(0)->kind() == c10::OptionalType::Kind) {
    c10::List<std::optional<at::Tensor>> mapped;
    for (const IValue& item : value.toListRef()) {
      if (!item.isTensor() && !item.isNone()) return;
      // The places of slices, as in x[:, i], are tensors that are not defined.
      const bool is_there = item.isTensor() && item.toTensor().defined();
      mapped.push_back(is_there ? std::optional<at::Tensor>(map(item.toTensor())) : std::nullopt);
    }
    value = std::move(mapped);
  }
}

// Whether it takes positions or lengths on the host, as it does on any accelerator.
bool takes_host_tensors(const c10::OperatorHandle& op) {
  constexpr std::string_view names[] = {"aten::index",         "aten::index_put",
                                        "aten::index_put_",    "aten::_index_put_impl_",
                                        "aten::_unsafe_index", "aten::_pack_padded_sequence"};
  return std::find(std::begin(names), std::end(names), op.operator_name().name) != std::end(names);
}

// What the schema of an operator says of all calls.
struct Traits {
  explicit Traits(const c10::OperatorHandle& op)
      : draws(op.hasTag(at::Tag::nondeterministic_seeded)), takes_host_tensors(simulated::takes_host_tensors(op)) {
    const auto& arguments = op.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const bool optional = arguments[i].type()->kind() == c10::OptionalType::Kind;
      if (optional && arguments[i].name() == "generator") generator = static_cast<int64_t>(i);
      writes.push_back(arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite());
      writes_any |= writes.back() != 0;
      has_tensors.push_back(arguments[i].type()->str().find("Tensor") != std::string::npos);
    }
  }

  bool draws;  // random numbers
  bool takes_host_tensors;
  bool writes_any = false;        // argument
  std::vector<char> writes;       // to each argument
  std::vector<char> has_tensors;  // of each argument: lists of numbers need not be looked through
  int64_t generator = -1;         // which argument it is
};

// The device that a call is for; what lies elsewhere is refused as it would be by hardware.
c10::Device device_of(const c10::OperatorHandle& op, const Traits& traits, const IValue* values, size_t count,
                      bool is_sparse) {
  std::optional<c10::Device> device;
  bool on_host = false;
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < count; ++i) {
    if (values[i].isDevice() && values[i].toDevice().type() == kDevice && !device) device = values[i].toDevice();
    if (!traits.has_tensors[i]) continue;
    each_tensor(values[i], [&](const at::Tensor& tensor) {
      if (tensor.device().type() == kDevice) {
        TORCH_CHECK(!device || !device->has_index() || *device == tensor.device(),
                    "Expected all tensors to be on the same device, but got at least two devices, ", *device, " and ",
                    tensor.device(), ", in ", op.operator_name(), " (argument '", arguments[i].name(), "')");
        device = tensor.device();
      } else {
        on_host |= tensor.is_cpu() && tensor.dim() > 0;
      }
    });
  }
  if (!device || !device->has_index()) device = c10::Device(kDevice, current_device());
  // Sparse tensors are copied from the host by the same operators as between themselves.
  TORCH_CHECK(!on_host || is_sparse || traits.takes_host_tensors,
              "Expected all tensors to be on the same device, but got at least two devices, ", *device, " and cpu, in ",
              op.operator_name(), "; move the others by .", kName, "() or .to(\"", *device, "\")");
  return *device;
}

// For operators that draw numbers without being told from which generator: the CPU's draws the device's numbers.
class DrawsOf {
 public:
  explicit DrawsOf(c10::DeviceIndex device)
      : host_(at::detail::getDefaultCPUGenerator()), numbers_(numbers_of(default_generator(device))) {
    const std::scoped_lock lock(host_.mutex(), numbers_.mutex());
    before_ = host_.get_state();
    host_.set_state(numbers_.get_state());
  }
  DrawsOf(const DrawsOf&) = delete;
  DrawsOf& operator=(const DrawsOf&) = delete;
  ~DrawsOf() {
    const std::scoped_lock lock(host_.mutex(), numbers_.mutex());
    numbers_.set_state(host_.get_state());
    host_.set_state(before_);
  }

 private:
  at::Generator host_, numbers_;
  at::Tensor before_;
};

void on_the_cpu(const Traits& traits, const c10::OperatorHandle& op, Stack* stack, bool is_sparse = false) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack->size() - count;
  throw_errors();
  const c10::Device device = device_of(op, traits, stack->data() + first, count, is_sparse);
  LentTensors lent(device);
  bool has_generator = false;
  for (size_t i = 0; i < count; ++i) {
    IValue& value = (*stack)[first + i];
    if (value.isGenerator()) {
      has_generator = true;
      if (value.toGenerator().device().type() == kDevice) value = numbers_of(value.toGenerator());
    } else if (value.isDevice()) {
      value = c10::Device(c10::DeviceType::CPU);
    } else if (static_cast<int64_t>(i) == traits.generator) {
      has_generator = true;
      value = numbers_of(default_generator(device.index()));
    } else if (traits.has_tensors[i]) {
      map_tensors(value, [&](const at::Tensor& tensor) {
        return tensor.device().type() == kDevice ? lent.lend(tensor, traits.writes[i] != 0) : tensor;
      });
    }
  }
  {
    const OnDevice memory(device.index());
    // What the kernel calls itself is at work on the device already: nothing above it is asked again.
    const c10::impl::ExcludeDispatchKeyGuard below(c10::autocast_dispatch_keyset);
    std::optional<DrawsOf> draws;
    if (traits.draws && !has_generator) draws.emplace(device.index());
    if (is_sparse) {
      // Which kernel it is depends on the arguments that are sparse, and of what layout.
      const at::AutoDispatchBelowADInplaceOrView without_gradients;
      op.callBoxed(stack);
    } else {
      op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    }
  }
  if (traits.writes_any) lent.settle();
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i)
    map_tensors((*stack)[i], [&](const at::Tensor& tensor) { return lent.give(tensor); });
}

// The fallback of one operator, whose traits are known.
struct OnTheCpu final : c10::OperatorKernel {
  OnTheCpu(const c10::OperatorHandle& op, bool is_sparse) : traits(op), is_sparse(is_sparse) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    on_the_cpu(traits, op, stack, is_sparse);
  }

  const Traits traits;
  const bool is_sparse;
};

void on_the_cpu_if_there(const c10::OperatorHandle& op, Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), op.operator_name(),
                              " cannot run on the simulated ", kName,
                              ", which takes PyTorch's kernel for the CPU: there is none");
  on_the_cpu(Traits(op), op, stack);
}

}  // namespace

void take_kernels_of_cpu() {
  auto& dispatcher = c10::Dispatcher::singleton();
  // Never given back, as the device is never taken down.
  auto& taken = *new std::vector<c10::RegistrationHandleRAII>;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema() || name.name.rfind("aten::", 0) != 0) continue;
    for (const auto& [own, cpus] :
         {std::pair(kKey, c10::DispatchKey::CPU), std::pair(kSparseKey, c10::DispatchKey::SparseCPU),
          std::pair(kSparseCsrKey, c10::DispatchKey::SparseCsrCPU)}) {
      if (!op->hasKernelForDispatchKey(cpus) || op->hasKernelForDispatchKey(own)) continue;
      auto kernel = std::make_unique<OnTheCpu>(*op, own != kKey);
      taken.push_back(dispatcher.registerImpl(name, own, c10::KernelFunction::makeFromBoxedFunctor(std::move(kernel)),
                                              std::nullopt, nullptr, "opbridge"));
    }
  }
}

TORCH_LIBRARY_IMPL(_, OPBRIDGE_KEY, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu_if_there>());
}

}  // namespace opbridge::simulated
