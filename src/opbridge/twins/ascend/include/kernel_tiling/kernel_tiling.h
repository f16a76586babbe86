// Tiling structs as their hosts declare them: plain data with setters; and those of the high-level functions.
#ifndef OPBRIDGE_ASCEND_KERNEL_TILING_H
#define OPBRIDGE_ASCEND_KERNEL_TILING_H

#include <stdint.h>
#include <string.h>

// There in a program with kernels: what the host has written is what they should read.
extern "C" __attribute__((weak)) void ob_ascend_note_tiling(const void* begin, uint64_t bytes);

namespace opbridge_ascend {

// What every tiling struct can do.
template <class Tiling>
struct TilingData {
  uint64_t GetDataSize() const { return sizeof(Tiling); }
  // What does not fit is not written.
  void SaveToBuffer(void* buffer, uint64_t capacity) const {
    if (capacity < sizeof(Tiling)) return;
    memcpy(buffer, static_cast<const Tiling*>(this), sizeof(Tiling));
    if (ob_ascend_note_tiling != nullptr) ob_ascend_note_tiling(buffer, sizeof(Tiling));
  }
};

}  // namespace opbridge_ascend

#define BEGIN_TILING_DATA_DEF(Name) struct Name : ::opbridge_ascend::TilingData<Name> {
#define TILING_DATA_FIELD_DEF(Type, field)        \
  Type field = {};                                \
  void set_##field(Type value) { field = value; } \
  Type get_##field() const { return field; }
#define TILING_DATA_FIELD_DEF_ARR(Type, length, field)                          \
  Type field[length] = {};                                                      \
  void set_##field(const Type* values) { memcpy(field, values, sizeof field); } \
  const Type* get_##field() const { return field; }
#define TILING_DATA_FIELD_DEF_STRUCT(Type, field) Type field = {};
#define END_TILING_DATA_DEF }

// What the high-level functions are told of their shapes.  On hardware these carry more, on how local memory is used.
namespace AscendC {

struct SoftMaxTiling {
  uint32_t srcM = 0, srcK = 0, srcSize = 0;
};
// Of [b, s, h] elements, of whose rows the first originalHLength count.
struct LayerNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
};
struct RmsNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
};
// Of [aLength, rLength] elements.
struct LayerNormSeparateTiling {
  uint32_t aLength = 0, rLength = 0;
};
struct TopkTiling {};

}  // namespace AscendC

using AscendC::LayerNormSeparateTiling;
using AscendC::LayerNormTiling;
using AscendC::RmsNormTiling;
using AscendC::SoftMaxTiling;
using AscendC::TopkTiling;

#endif
