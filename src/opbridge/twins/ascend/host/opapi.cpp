#include <dlfcn.h>
#include <opbridge_ascend/device.h>
#include <opbridge_ascend/host/graph.h>
#include <opbridge_ascend/host/opapi.h>
#include <opbridge_ascend/launch.h>

#include <map>
#include <mutex>

namespace opbridge_ascend {
namespace {

const char* name_of(int32_t type) {
  switch (type) {
#define OPBRIDGE_ASCEND_DTYPE(name, code, bytes, kernel) \
  case code:                                             \
    return #kernel;
    OPBRIDGE_ASCEND_DTYPES(OPBRIDGE_ASCEND_DTYPE)
#undef OPBRIDGE_ASCEND_DTYPE
    default:
      return "a type that no kernel has";
  }
}

int64_t bytes_of(const std::vector<int64_t>& sizes, int32_t type) {
  int64_t bytes = ge::GetSizeByDataType(static_cast<ge::DataType>(type));
  for (const int64_t size : sizes) bytes *= size;
  return bytes;
}

// From the folder that this library is in, so that all of them can be moved together.
void* function_of(const char* library, const char* symbol) {
  static std::mutex& mutex = *new std::mutex;
  static auto& opened = *new std::map<std::string, void*>;
  const std::lock_guard<std::mutex> lock(mutex);
  void*& handle = opened[library];
  if (handle == nullptr) {
    Dl_info own{};
    dladdr(reinterpret_cast<const void*>(&function_of), &own);
    const std::string file = own.dli_fname;
    handle = dlopen((file.substr(0, file.rfind('/') + 1) + library).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return handle == nullptr ? nullptr : dlsym(handle, symbol);
}

// Memory of the host's with bounds that the checks know, for the time of a launch.
class Lent {
 public:
  void lend(const void* data, uint64_t bytes, const char* name) {
    if (data == nullptr || ob_ascend_device_find(data) != nullptr) return;
    ob_ascend_adopt(data, bytes, name);
    all_.push_back(data);
  }
  ~Lent() {
    for (const void* const data : all_) ob_ascend_release(data);
  }

 private:
  std::vector<const void*> all_;
};

ob_ascend_tensor described(bool given, const std::vector<int64_t>& sizes, int32_t type, const void* data) {
  // A host function that asks for values reads them where the host can.
  return {sizes.data(), given ? static_cast<int32_t>(sizes.size()) : -1, type, ob_ascend_window(data)};
}

}  // namespace

void OperatorCall::input(bool given, const void* data, const int64_t* sizes, size_t rank, int32_t type) {
  inputs_.push_back({given, const_cast<void*>(data), {sizes, sizes + rank}, type});
}

void OperatorCall::output(void* data, const int64_t* sizes, size_t rank, int32_t type) {
  outputs_.push_back({true, data, {sizes, sizes + rank}, type});
}

void OperatorCall::attribute(const char* text) { values_.push_back({"str", {0}, {0}, text != nullptr ? text : ""}); }

void OperatorCall::attribute(const char* kind, const int64_t* values, size_t count) {
  numbers(kind, {values, values + count}, {values, values + count});
}

void OperatorCall::attribute(const double* values, size_t count) {
  numbers("float[]", {values, values + count}, {values, values + count});
}

void OperatorCall::numbers(const char* kind, std::vector<int64_t> integers, std::vector<double> reals) {
  values_.push_back({kind, std::move(integers), std::move(reals), {}});
}

aclnnStatus OperatorCall::fails(aclnnStatus status, const std::string& message) {
  error = std::string(of_.type) + " " + message;
  return status;
}

const BuiltKernel* OperatorCall::kernel() {
  const auto fits = [&](const std::vector<int32_t>& types) {
    for (size_t i = 0; i < types.size(); ++i) {
      const Operand& one = i < inputs_.size() ? inputs_[i] : outputs_[i - inputs_.size()];
      if (one.given && one.type != types[i]) return false;
    }
    return true;
  };
  for (const BuiltKernel& one : of_.kernels) {
    if (fits(one.types)) return &one;
  }
  return nullptr;
}

std::string OperatorCall::types() const {
  std::string text;
  size_t i = 0;
  for (const auto* const all : {&inputs_, &outputs_}) {
    for (const Operand& one : *all) {
      text += (i == 0 ? "" : ", ") + std::string(of_.parameters[i]) + " " + (one.given ? name_of(one.type) : "None");
      ++i;
    }
  }
  return text;
}

aclnnStatus OperatorCall::plan() {
  kernel_ = kernel();
  if (kernel_ == nullptr) return fails(ACLNN_ERR_PARAM_INVALID, "is not defined for these elements: " + types());
  std::vector<ob_ascend_tensor> inputs, outputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    // The type of an omitted operand follows from the combination.
    const int32_t type = inputs_[i].given ? inputs_[i].type : kernel_->types[i];
    inputs.push_back(described(inputs_[i].given, inputs_[i].sizes, type, inputs_[i].data));
  }
  for (const Operand& one : outputs_) outputs.push_back(described(true, one.sizes, one.type, one.data));
  std::vector<ob_ascend_attribute> attributes;
  for (const Value& one : values_) {
    attributes.push_back(
        {one.kind, one.integers.data(), one.reals.data(), one.text.c_str(), static_cast<int32_t>(one.integers.size())});
  }
  const ob_ascend_call call{of_.type,
                            inputs.data(),
                            outputs.data(),
                            attributes.data(),
                            static_cast<int32_t>(inputs.size()),
                            static_cast<int32_t>(outputs.size()),
                            static_cast<int32_t>(attributes.size())};
  if (ob_ascend_tile(&call, &plan_) == 0) return ACLNN_SUCCESS;
  return fails(ACLNN_ERR_INNER_TILING_ERROR,
               "refuses these tensors and attributes: its tiling function returned no GRAPH_SUCCESS");
}

aclnnStatus OperatorCall::run(void* workspace, uint64_t bytes) {
  if (bytes < plan_.workspace || (workspace == nullptr && plan_.workspace != 0)) {
    return fails(ACLNN_ERR_PARAM_INVALID, "needs a workspace of " + std::to_string(plan_.workspace) +
                                              " bytes, and was given " +
                                              std::to_string(workspace == nullptr ? 0 : bytes));
  }
  void* const launch = function_of(kernel_->library, of_.launch);
  if (launch == nullptr) {
    const char* const why = dlerror();
    return fails(ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
                 "has no kernel: " + std::string(why != nullptr ? why : kernel_->library));
  }
  uint8_t none = 0;
  Lent lent;
  std::vector<void*> addresses;
  const auto pass = [&](void* data, uint64_t size, const char* name) {
    lent.lend(data, size, name);
    addresses.push_back(data);
  };
  for (const auto* const all : {&inputs_, &outputs_}) {
    for (const Operand& one : *all) {
      pass(one.data, static_cast<uint64_t>(bytes_of(one.sizes, one.type)), of_.parameters[addresses.size()]);
    }
  }
  pass(workspace != nullptr ? workspace : &none, workspace != nullptr ? bytes : 1, "the workspace");
  pass(plan_.tiling, plan_.tiling_bytes, "the tiling");
  ob_ascend_set_tiling_key(plan_.key);
  if (of_.start(launch, plan_.blocks, addresses.data()) == 0) return ACLNN_SUCCESS;
  return fails(ACLNN_ERR_RUNTIME_ERROR, "failed");
}

namespace {

class Planned final : public aclOpExecutor {
 public:
  explicit Planned(std::unique_ptr<OperatorCall> call) : call_(std::move(call)) {}
  aclnnStatus run(const char* name, void* workspace, uint64_t bytes) override {
    const aclnnStatus status = call_->run(workspace, bytes);
    return status == ACLNN_SUCCESS ? status : ob_ascend_acl_failed(status, (name + (": " + call_->error)).c_str());
  }

 private:
  std::unique_ptr<OperatorCall> call_;
};

bool is_contiguous(const aclTensor& tensor) {
  int64_t stride = 1;
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] == 0) return true;
    if (tensor.sizes[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.sizes[i];
  }
  return true;
}

}  // namespace

void TwoPhases::fails(aclnnStatus status, const std::string& message) {
  if (status_ != ACLNN_SUCCESS) return;
  status_ = status;
  message_ = message;
}

void TwoPhases::check(const char* name, const aclTensor* tensor) {
  if (tensor == nullptr) return fails(ACLNN_ERR_PARAM_NULLPTR, std::string(name) + " is null");
  if (!is_contiguous(*tensor)) {
    fails(ACLNN_ERR_PARAM_INVALID, std::string(name) + " has gaps; the twin takes tensors without, so copy it first");
  }
}

TwoPhases& TwoPhases::required(const char* name, const aclTensor* tensor) {
  check(name, tensor);
  return optional(name, tensor);
}

TwoPhases& TwoPhases::optional(const char* name, const aclTensor* tensor) {
  if (tensor == nullptr) {
    call_->input(false, nullptr, nullptr, 0, -1);
  } else {
    check(name, tensor);
    call_->input(true, tensor->data, tensor->sizes.data(), tensor->sizes.size(), tensor->type);
  }
  return *this;
}

TwoPhases& TwoPhases::output(const char* name, const aclTensor* tensor) {
  check(name, tensor);
  if (tensor != nullptr) call_->output(tensor->data, tensor->sizes.data(), tensor->sizes.size(), tensor->type);
  return *this;
}

TwoPhases& TwoPhases::attribute(const aclIntArray* values) {
  call_->attribute("int[]", values ? values->values.data() : nullptr, values ? values->values.size() : 0);
  return *this;
}

TwoPhases& TwoPhases::attribute(const aclFloatArray* values) {
  call_->attribute(values ? values->values.data() : nullptr, values ? values->values.size() : 0);
  return *this;
}

TwoPhases& TwoPhases::attribute(const aclBoolArray* values) {
  call_->attribute("bool[]", values ? values->values.data() : nullptr, values ? values->values.size() : 0);
  return *this;
}

aclnnStatus TwoPhases::plan(uint64_t* workspace, aclOpExecutor** executor) {
  if (workspace == nullptr || executor == nullptr) {
    fails(ACLNN_ERR_PARAM_NULLPTR, "nowhere to put the workspace's size and the executor");
  }
  if (status_ == ACLNN_SUCCESS) {
    status_ = call_->plan();
    message_ = call_->error;
  }
  if (status_ != ACLNN_SUCCESS) {
    return ob_ascend_acl_failed(status_, (std::string(name_) + ": " + message_).c_str());
  }
  *workspace = call_->workspace();
  *executor = new Planned(std::move(call_));
  return ACLNN_SUCCESS;
}

aclnnStatus run_planned(const char* name, void* workspace, uint64_t bytes, aclOpExecutor* executor) {
  if (executor == nullptr) {
    return ob_ascend_acl_failed(ACLNN_ERR_PARAM_NULLPTR, (std::string(name) + ": the executor is null").c_str());
  }
  const std::unique_ptr<aclOpExecutor> used_up(executor);
  return used_up->run(name, workspace, bytes);
}

}  // namespace opbridge_ascend
