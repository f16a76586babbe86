// DumpTensor: a kernel prints what is in a tensor.
#ifndef OPBRIDGE_ASCEND_DUMP_H
#define OPBRIDGE_ASCEND_DUMP_H

#include <stdio.h>

#include <string>

#include "tensor.h"

namespace AscendC {

// How the elements are divided into rows.
struct ShapeInfo {
  uint8_t shapeDim = 0;
  uint32_t shape[8] = {};

  ShapeInfo() = default;
  ShapeInfo(uint8_t dimensions, const uint32_t* sizes) : shapeDim(dimensions) {
    for (uint8_t i = 0; i < dimensions && i < 8; ++i) shape[i] = sizes[i];
  }
};

namespace detail {

template <class T>
constexpr const char* type_name() {
  if (std::is_same_v<T, half>) return "float16";
  if (std::is_same_v<T, bfloat16_t>) return "bfloat16";
  if (std::is_same_v<T, float>) return "float32";
  constexpr const char* names[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
  return names[std::is_signed_v<T>][sizeof(T) == 8 ? 3 : sizeof(T) / 2];
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_integral_v<T>) return std::to_string(value);
  return std::to_string(static_cast<float>(value));
}

// One text for all, so that those of other blocks do not come between.  `known(i)` says whether anything was written to
// an element.
template <class T, class Known>
void dump(const T* data, const char* position, uint32_t desc, uint32_t count, uint32_t row, Known known) {
  std::string text = "DumpTensor: desc=" + std::to_string(desc) + ", data_type=" + type_name<T>() +
                     ", position=" + position + ", dump_size=" + std::to_string(count) +
                     ", block=" + std::to_string(opbridge_ascend::registers().index) + "\n[";
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0) text += row > 0 && i % row == 0 ? ",\n " : ", ";
    text += known(i) ? element_text(data[i]) : "unset";
  }
  text += "]\n";
  fwrite(text.data(), 1, text.size(), stdout);
}

inline uint32_t row_of(const ShapeInfo& shape) { return shape.shapeDim > 0 ? shape.shape[shape.shapeDim - 1] : 0; }

}  // namespace detail

// What is there when the call is made: of local memory it waits for no pipe and is ordered with none, so that what is
// reported of the kernel stays the same.
template <class T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo& shapeInfo = {},
                Place at = Place::here()) {
  detail::addressable<T>();
  Instruction instruction("DumpTensor", PIPE_S, at);
  instruction.requires_that(dumpSize <= tensor.GetSize(), "dumpSize", dumpSize, "at most the tensor's elements");
  const auto position = static_cast<TPosition>(tensor.GetPosition());
  const char* const name = position == TPosition::CO1                               ? "L0C"
                           : position == TPosition::A1 || position == TPosition::B1 ? "L1"
                                                                                    : "UB";
  detail::dump(tensor.data(), name, desc, dumpSize, detail::row_of(shapeInfo), [&](uint32_t i) {
    return !instruction.checked() || instruction.knows(tensor.memory(), tensor.data() + i, sizeof(T));
  });
}
template <class T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo& shapeInfo = {},
                Place at = Place::here()) {
  detail::addressable<T>();
  Instruction instruction("DumpTensor", PIPE_S, at);
  instruction.reads(tensor.memory(), tensor.data(), dumpSize * sizeof(T));
  detail::dump(tensor.data(), "GM", desc, dumpSize, detail::row_of(shapeInfo), [](uint32_t) { return true; });
}

}  // namespace AscendC
#endif
