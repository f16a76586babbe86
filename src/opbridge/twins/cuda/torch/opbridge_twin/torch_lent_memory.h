// Registers tensors for the checks: a kernel may use the memory of tensors whose address its host code requested.
//
// The linker sends every call of TensorBase::data_ptr<T>, which accessors also use, here first (--wrap).  Storages are
// kept as weak references and mapped for the time of a launch: kernels cannot use memory that PyTorch has freed by
// then.
#ifndef OPBRIDGE_TWIN_TORCH_LENT_MEMORY_H
#define OPBRIDGE_TWIN_TORCH_LENT_MEMORY_H

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <string>
#include <vector>

extern "C" {
void ob_twin_adopt(const void* begin, size_t bytes, const char* name);
void ob_twin_release(const void* begin);
void ob_twin_attach_host(void);
const char* ob_twin_take_reports(void);
void ob_twin_clear_errors(void);
}

namespace opbridge_twin {

// A tensor that reports may name; it does not keep the tensor alive.
struct RememberedTensor {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  std::string name;
};

inline std::vector<RememberedTensor>& remembered_tensors() {
  static thread_local std::vector<RememberedTensor> tensors;
  return tensors;
}

inline void remember(const at::TensorBase& tensor) {
  if (!tensor.defined() || !tensor.has_storage() || !tensor.device().is_cpu()) return;
  auto& tensors = remembered_tensors();
  const c10::Storage& storage = tensor.storage();
  const auto same = [&](const RememberedTensor& known) {
    return known.storage._unsafe_get_target() == storage.unsafeGetStorageImpl();
  };
  if (std::any_of(tensors.begin(), tensors.end(), same)) return;
  tensors.erase(
      std::remove_if(tensors.begin(), tensors.end(), [](const auto& known) { return known.storage.expired(); }),
      tensors.end());
  tensors.push_back({storage.getWeakStorageImpl(), "a tensor of shape " + c10::str(tensor.sizes())});
}

// For the time of a launch, kernels may use the tensors.
class LentTensors {
 public:
  LentTensors() {
    ob_twin_attach_host();
    for (const RememberedTensor& known : remembered_tensors()) {
      const auto storage = known.storage.lock();
      if (!storage || storage->data() == nullptr || storage->nbytes() == 0) continue;
      ob_twin_adopt(storage->data(), storage->nbytes(), known.name.c_str());
      lent_.push_back(storage);
    }
  }
  LentTensors(const LentTensors&) = delete;
  LentTensors& operator=(const LentTensors&) = delete;
  ~LentTensors() {
    for (const auto& storage : lent_) ob_twin_release(storage->data());
  }

 private:
  std::vector<c10::intrusive_ptr<c10::StorageImpl>> lent_;
};

// What the checks found, as the exception that Python shows.
inline void throw_reports() {
  const char* const reports = ob_twin_take_reports();
  if (reports == nullptr) return;
  ob_twin_clear_errors();
  TORCH_CHECK(false, reports);
}

}  // namespace opbridge_twin

#define OPBRIDGE_TWIN_LENDING 1

#define OPBRIDGE_TWIN_WRAPPED(symbol)                                                                              \
  extern "C" void* __real_##symbol(const at::TensorBase*);                                                         \
  extern "C" __attribute__((weak, used, visibility("hidden"))) void* __wrap_##symbol(const at::TensorBase* self) { \
    opbridge_twin::remember(*self);                                                                                \
    return __real_##symbol(self);                                                                                  \
  }
#define OPBRIDGE_TWIN_WRAPPED_FOR(type)                                       \
  OPBRIDGE_TWIN_WRAPPED(_ZNK2at10TensorBase8data_ptrI##type##EEPT_v)          \
  OPBRIDGE_TWIN_WRAPPED(_ZNK2at10TensorBase16mutable_data_ptrI##type##EEPT_v) \
  OPBRIDGE_TWIN_WRAPPED(_ZNK2at10TensorBase14const_data_ptrI##type##EEPKT_v)  \
  OPBRIDGE_TWIN_WRAPPED(_ZNK2at10TensorBase14const_data_ptrIK##type##EEPKT_v)
OPBRIDGE_TWIN_WRAPPED_FOR(a)
OPBRIDGE_TWIN_WRAPPED_FOR(b)
OPBRIDGE_TWIN_WRAPPED_FOR(d)
OPBRIDGE_TWIN_WRAPPED_FOR(f)
OPBRIDGE_TWIN_WRAPPED_FOR(h)
OPBRIDGE_TWIN_WRAPPED_FOR(i)
OPBRIDGE_TWIN_WRAPPED_FOR(j)
OPBRIDGE_TWIN_WRAPPED_FOR(l)
OPBRIDGE_TWIN_WRAPPED_FOR(m)
OPBRIDGE_TWIN_WRAPPED_FOR(s)
OPBRIDGE_TWIN_WRAPPED_FOR(t)
OPBRIDGE_TWIN_WRAPPED_FOR(N3c104HalfE)
OPBRIDGE_TWIN_WRAPPED_FOR(N3c107complexIdEE)
OPBRIDGE_TWIN_WRAPPED_FOR(N3c107complexIfEE)
OPBRIDGE_TWIN_WRAPPED_FOR(N3c108BFloat16E)

// Without a type it is a function of the header, which no linker sees.
template <>
inline void* at::TensorBase::data_ptr<void>() const {
  opbridge_twin::remember(*this);
  return unsafeGetTensorImpl()->mutable_data();
}
#define data_ptr() data_ptr<void>()

#endif
