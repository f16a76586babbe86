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

// What the host of an operator remembers of its structs; see register/tilingdata_base.h.
#define OPBRIDGE_ASCEND_NOTE_STRUCT(Name)
#define OPBRIDGE_ASCEND_NOTE_FIELD(Type, field, length)

#define BEGIN_TILING_DATA_DEF(Name)                   \
  struct Name : ::opbridge_ascend::TilingData<Name> { \
    OPBRIDGE_ASCEND_NOTE_STRUCT(Name)
#define TILING_DATA_FIELD_DEF(Type, field)        \
  OPBRIDGE_ASCEND_NOTE_FIELD(Type, field, 0)      \
  Type field = {};                                \
  void set_##field(Type value) { field = value; } \
  Type get_##field() const { return field; }
#define TILING_DATA_FIELD_DEF_ARR(Type, length, field)                          \
  OPBRIDGE_ASCEND_NOTE_FIELD(Type, field, length)                               \
  Type field[length] = {};                                                      \
  void set_##field(const Type* values) { memcpy(field, values, sizeof field); } \
  const Type* get_##field() const { return field; }
#define TILING_DATA_FIELD_DEF_STRUCT(Type, field) \
  OPBRIDGE_ASCEND_NOTE_FIELD(Type, field, 0)      \
  Type field = {};
// Ends with a semicolon, because some hosts write one after it and some do not.
#define END_TILING_DATA_DEF \
  }                         \
  ;

// The shapes for the high-level functions.  On hardware, these structs also describe the use of local memory.
namespace AscendC {

// For rows of srcK elements: the part of the host's tiling that the twin needs.
struct SoftMaxTiling {
  uint32_t srcM = 0, srcK = 0, srcSize = 0;
};
// For [b, s, h] elements; the first originalHLength of each row count.
struct LayerNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
};
struct RmsNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
};
// For [aLength, rLength] elements.
struct LayerNormSeparateTiling {
  uint32_t aLength = 0, rLength = 0;
};
struct TopkTiling {};
struct UnPadTiling {
  uint32_t srcHeight = 0, srcWidth = 0;
};

namespace tiling {
using AscendC::LayerNormSeparateTiling;
using AscendC::LayerNormTiling;
using AscendC::RmsNormTiling;
using AscendC::SoftMaxTiling;
using AscendC::TopkTiling;
using AscendC::UnPadTiling;
}  // namespace tiling

}  // namespace AscendC

using AscendC::LayerNormSeparateTiling;
using AscendC::LayerNormTiling;
using AscendC::RmsNormTiling;
using AscendC::SoftMaxTiling;
using AscendC::TopkTiling;
using AscendC::UnPadTiling;

// How a product of matrices is divided: among cores, and on each of them into blocks.
BEGIN_TILING_DATA_DEF(TCubeTiling)
TILING_DATA_FIELD_DEF(int32_t, usedCoreNum);
TILING_DATA_FIELD_DEF(int32_t, M);
TILING_DATA_FIELD_DEF(int32_t, N);
TILING_DATA_FIELD_DEF(int32_t, Ka);
TILING_DATA_FIELD_DEF(int32_t, Kb);
TILING_DATA_FIELD_DEF(int32_t, singleCoreM);
TILING_DATA_FIELD_DEF(int32_t, singleCoreN);
TILING_DATA_FIELD_DEF(int32_t, singleCoreK);
TILING_DATA_FIELD_DEF(int32_t, baseM);
TILING_DATA_FIELD_DEF(int32_t, baseN);
TILING_DATA_FIELD_DEF(int32_t, baseK);
TILING_DATA_FIELD_DEF(int32_t, depthA1);
TILING_DATA_FIELD_DEF(int32_t, depthB1);
TILING_DATA_FIELD_DEF(int32_t, stepM);
TILING_DATA_FIELD_DEF(int32_t, stepN);
TILING_DATA_FIELD_DEF(int32_t, stepKa);
TILING_DATA_FIELD_DEF(int32_t, stepKb);
TILING_DATA_FIELD_DEF(int32_t, isBias);
TILING_DATA_FIELD_DEF(int32_t, transLength);
TILING_DATA_FIELD_DEF(int32_t, iterateOrder);
TILING_DATA_FIELD_DEF(int32_t, shareMode);
TILING_DATA_FIELD_DEF(int32_t, shareL1Size);
TILING_DATA_FIELD_DEF(int32_t, shareL0CSize);
TILING_DATA_FIELD_DEF(int32_t, shareUbSize);
TILING_DATA_FIELD_DEF(int32_t, batchM);
TILING_DATA_FIELD_DEF(int32_t, batchN);
TILING_DATA_FIELD_DEF(int32_t, singleBatchM);
TILING_DATA_FIELD_DEF(int32_t, singleBatchN);
TILING_DATA_FIELD_DEF(int32_t, dbL0A);
TILING_DATA_FIELD_DEF(int32_t, dbL0B);
TILING_DATA_FIELD_DEF(int32_t, dbL0C);
END_TILING_DATA_DEF;

namespace optiling {
using ::TCubeTiling;
}
namespace AscendC {
namespace tiling {
using ::TCubeTiling;
}
}  // namespace AscendC

#endif
