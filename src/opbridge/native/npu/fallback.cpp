// Every operator of ATen's without a kernel of its own: PyTorch's kernel for the CPU, on the device's memory.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>

#include "device.h"
#include "lending.h"

namespace opbridge::npu {
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
      mapped.push_back(item.isTensor() ? std::optional<at::Tensor>(map(item.toTensor())) : std::nullopt);
    }
    value = std::move(mapped);
  }
}

// Operators that take positions or lengths on the host, as they do on any accelerator.
bool takes_host_tensors(const c10::OperatorHandle& op) {
  constexpr std::string_view names[] = {"aten::index",         "aten::index_put",
                                        "aten::index_put_",    "aten::_index_put_impl_",
                                        "aten::_unsafe_index", "aten::_pack_padded_sequence"};
  return std::find(std::begin(names), std::end(names), op.operator_name().name) != std::end(names);
}

// The device that a call is for; what lies elsewhere is refused as it would be by hardware.
c10::Device device_of(const c10::OperatorHandle& op, const IValue* values, size_t count) {
  std::optional<c10::Device> device;
  bool on_host = false;
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < count; ++i) {
    if (values[i].isDevice() && values[i].toDevice().type() == kNpu && !device) device = values[i].toDevice();
    each_tensor(values[i], [&](const at::Tensor& tensor) {
      if (tensor.device().type() == kNpu) {
        TORCH_CHECK(!device || !device->has_index() || *device == tensor.device(),
                    "Expected all tensors to be on the same device, but got at least two devices, ", *device, " and ",
                    tensor.device(), ", in ", op.operator_name(), " (argument '", arguments[i].name(), "')");
        device = tensor.device();
      } else {
        on_host |= tensor.is_cpu() && tensor.dim() > 0;
      }
    });
  }
  if (!device || !device->has_index()) device = c10::Device(kNpu, current_device());
  TORCH_CHECK(!on_host || takes_host_tensors(op),
              "Expected all tensors to be on the same device, but got at least two devices, ", *device, " and cpu, in ",
              op.operator_name(), "; move the others by .npu() or .to(\"", *device, "\")");
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

bool is_optional_generator(const c10::Argument& argument) {
  return argument.name() == "generator" && argument.type()->kind() == c10::OptionalType::Kind;
}

void on_the_cpu(const c10::OperatorHandle& op, Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), op.operator_name(),
      " cannot run on the simulated npu, which takes PyTorch's kernel for the CPU: there is none");
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  const c10::Device device = device_of(op, stack->data() + first, arguments.size());
  Lending lending(device);
  bool has_generator = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    IValue& value = (*stack)[first + i];
    if (value.isGenerator()) {
      has_generator = true;
      if (value.toGenerator().device().type() == kNpu) value = numbers_of(value.toGenerator());
    } else if (value.isDevice()) {
      value = c10::Device(c10::DeviceType::CPU);
    } else if (value.isNone()) {
      if (!is_optional_generator(arguments[i])) continue;
      has_generator = true;
      value = numbers_of(default_generator(device.index()));
    } else {
      map_tensors(value, [&](const at::Tensor& tensor) {
        return tensor.device().type() == kNpu ? lending.lend(tensor) : tensor;
      });
    }
  }
  {
    const OnDevice memory(device.index());
    // What the kernel calls itself is at work on the device already: nothing above it is asked again.
    const c10::impl::ExcludeDispatchKeyGuard below(c10::autocast_dispatch_keyset);
    std::optional<DrawsOf> draws;
    if (!has_generator && op.hasTag(at::Tag::nondeterministic_seeded)) draws.emplace(device.index());
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  lending.settle();
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i)
    map_tensors((*stack)[i], [&](const at::Tensor& tensor) { return lending.give(tensor); });
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>()); }

}  // namespace opbridge::npu
