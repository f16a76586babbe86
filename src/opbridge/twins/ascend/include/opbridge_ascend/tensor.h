// GlobalTensor and LocalTensor: addresses that know the memory they belong to.
#ifndef OPBRIDGE_ASCEND_TENSOR_H
#define OPBRIDGE_ASCEND_TENSOR_H

#include <type_traits>

#include "machine.h"

namespace AscendC {

using opbridge_ascend::Global;
using opbridge_ascend::Instruction;
using opbridge_ascend::Local;
using opbridge_ascend::Place;

// Whether global memory is read through the L2 cache, which changes no result.
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL };

// Half a byte, of which two stand in one: moved by copies, and made or read by Cast.
struct int4b_t {
  uint8_t pair;
};

namespace detail {

template <class T>
constexpr uint32_t kInByte = 1;
template <>
inline constexpr uint32_t kInByte<int4b_t> = 2;

template <class T>
constexpr void addressable() {
  static_assert(
      !std::is_same<T, int4b_t>::value,
      "one int4b_t has no address: read the int8_t that holds two, by ReinterpretCast or a GlobalTensor of it");
}

}  // namespace detail

// A view of global memory, cheap to copy; each access says where it is, and is checked when checks are on.
template <class T>
class GlobalTensor {
 public:
  using PrimType = T;

  void SetGlobalBuffer(__gm__ T* buffer, uint64_t size) {
    data_ = buffer;
    memory_ = {reinterpret_cast<uint8_t*>(buffer), size * sizeof(T) / detail::kInByte<T>};
  }
  void SetGlobalBuffer(__gm__ T* buffer) {
    data_ = buffer;
    memory_ = {reinterpret_cast<uint8_t*>(buffer), 0};
  }
  const __gm__ T* GetPhyAddr() const { return data_; }
  __gm__ T* GetPhyAddr(uint64_t offset) const { return data_ + offset / detail::kInByte<T>; }
  uint64_t GetSize() const { return memory_.bytes / sizeof(T) * detail::kInByte<T>; }
  void SetL2CacheHint(CacheMode) {}

  T GetValue(uint64_t offset, Place at = Place::here()) const {
    detail::addressable<T>();
    Instruction instruction("GetValue", PIPE_S, at);
    instruction.reads(memory_, data_ + offset, sizeof(T));
    instruction.gives(data_[offset]);
    return data_[offset];
  }
  void SetValue(uint64_t offset, T value, Place at = Place::here()) const {
    detail::addressable<T>();
    Instruction instruction("SetValue", PIPE_S, at);
    instruction.takes(value);
    instruction.writes(memory_, data_ + offset, sizeof(T));
    instruction.caches(memory_, data_ + offset, sizeof(T));
    data_[offset] = value;
  }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor other = *this;
    other.data_ += offset / detail::kInByte<T>;
    return other;
  }
  // A reference may be read or written, and nobody sees which: it counts as read, as all blocks may do that at once.
  __gm__ T& operator()(uint64_t offset, Place at = Place::here()) const {
    Instruction instruction("operator()", PIPE_S, at);
    instruction.reads(memory_, data_ + offset, sizeof(T));
    instruction.gives(data_[offset]);
    return data_[offset];
  }
  const Global& memory() const { return memory_; }
  __gm__ T* data() const { return data_; }

 private:
  __gm__ T* data_ = nullptr;
  Global memory_;
};

template <class Operation, class T>
struct Expression;
template <class T>
struct Comparison;

// A view of a buffer of this core's; it knows the generation of its buffer, so that use after a free is seen.
template <class T>
class LocalTensor {
 public:
  using PrimType = T;

  LocalTensor() = default;
  LocalTensor(const Local& memory, uint32_t offset_bytes, uint32_t size)
      : data_(reinterpret_cast<T*>(memory.data + offset_bytes)), size_(size), memory_(memory) {}
  // At an address of that kind of memory that the kernel has chosen itself.
  LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize, Place at = Place::here())
      : LocalTensor(opbridge_ascend::static_memory(
                        pos, addr, static_cast<uint32_t>(uint64_t{tileSize} * sizeof(T) / detail::kInByte<T>), at),
                    0, tileSize) {}

  // a = b + c, over all elements of a.
  template <class Operation>
  void operator=(const Expression<Operation, T>& expression) {
    expression.into(*this);
  }
  // a = b < c, a bit for each element of b.
  template <class U>
  void operator=(const Comparison<U>& comparison) {
    comparison.into(*this);
  }

  uint64_t GetPhyAddr() const { return reinterpret_cast<uint64_t>(data_); }
  uint64_t GetPhyAddr(uint32_t offset) const { return reinterpret_cast<uint64_t>(data_ + offset); }
  uint32_t GetSize() const { return size_; }
  uint32_t GetLength() const { return size_ * sizeof(T) / detail::kInByte<T>; }
  void SetSize(uint32_t size) { size_ = size; }
  int32_t GetPosition() const { return static_cast<int32_t>(opbridge_ascend::position_of(memory_)); }
  // Becomes the part of another tensor after so many elements.
  template <class U>
  void SetAddrWithOffset(LocalTensor<U>& other, uint32_t offset) {
    *this = other[offset].template ReinterpretCast<T>();
  }

  T GetValue(uint32_t index, Place at = Place::here()) const {
    Instruction instruction("GetValue", PIPE_S, at);
    instruction.reads(memory_, data_ + index, sizeof(T));
    instruction.gives(data_[index]);
    return data_[index];
  }
  template <class Value>
  void SetValue(uint32_t index, Value value, Place at = Place::here()) const {
    Instruction instruction("SetValue", PIPE_S, at);
    instruction.takes(value);
    instruction.writes(memory_, data_ + index, sizeof(T));
    data_[index] = static_cast<T>(value);
  }
  // A reference may be read or written, and nobody sees which: it counts as written.
  T& operator()(uint32_t index, Place at = Place::here()) const {
    Instruction instruction("operator()", PIPE_S, at);
    instruction.writes(memory_, data_ + index, sizeof(T));
    instruction.gives(data_[index]);
    return data_[index];
  }
  LocalTensor operator[](uint32_t offset) const {
    LocalTensor other = *this;
    other.data_ += offset / detail::kInByte<T>;
    other.size_ = offset < size_ ? size_ - offset : 0;
    return other;
  }
  template <class U>
  LocalTensor<U> ReinterpretCast() const {
    const auto offset = static_cast<uint32_t>(reinterpret_cast<uint8_t*>(data_) - memory_.data);
    return LocalTensor<U>(memory_, offset, static_cast<uint32_t>(GetLength() / sizeof(U) * detail::kInByte<U>));
  }
  // The tensor's memory, from its own first element on.
  Local memory() const { return memory_; }
  Local start() const {
    Local local = memory_;
    local.data = reinterpret_cast<uint8_t*>(data_);
    return local;
  }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  uint32_t size_ = 0;
  Local memory_;
};

}  // namespace AscendC
#endif
