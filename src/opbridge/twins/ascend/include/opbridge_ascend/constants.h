// Numbers of the hardware by the names that kernels know them by.
#ifndef OPBRIDGE_ASCEND_CONSTANTS_H
#define OPBRIDGE_ASCEND_CONSTANTS_H

#include <stdint.h>

namespace AscendC {

constexpr uint32_t DEFAULT_BLK_STRIDE = 1, DEFAULT_REPEAT_STRIDE = 8, HALF_DEFAULT_REPEAT_STRIDE = 4;
constexpr uint32_t DEFAULT_BLK_NUM = 8, DEFAULT_BLOCK_SIZE = 256, DEFAULT_C0_SIZE = 32;
constexpr uint32_t BRCB_BROADCAST_NUMBER = 8, BLOCK_CUBE = 16, MAX_REPEAT_TIMES = 255;

constexpr uint32_t ONE_BLK_SIZE = 32, ONE_BLK_FLOAT_NUM = 8, ONE_BLK_HALF_NUM = 16;
constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256, ONE_REPEAT_FLOAT_SIZE = 64, ONE_REPEAT_HALF_SIZE = 128;

// The part of the unified buffer for tensors; the high-level functions reserve the rest.
constexpr uint32_t TOTAL_VEC_LOCAL_SIZE = 184 * 1024;

constexpr uint64_t FULL_MASK = 0xffffffffffffffff;
constexpr uint64_t FULL_MASK_LEN = 128, HALF_MASK_LEN = 64;

// Types for elements with so many bits.
#define OPBRIDGE_ASCEND_SIZES(bits)                                                     \
  constexpr uint32_t B##bits##_BYTE_SIZE = (bits) / 8;                                  \
  constexpr uint32_t B##bits##_DATA_NUM_PER_BLOCK = ONE_BLK_SIZE / B##bits##_BYTE_SIZE; \
  constexpr uint32_t B##bits##_DATA_NUM_PER_REPEAT = ONE_REPEAT_BYTE_SIZE / B##bits##_BYTE_SIZE;
OPBRIDGE_ASCEND_SIZES(8)
OPBRIDGE_ASCEND_SIZES(16)
OPBRIDGE_ASCEND_SIZES(32)
OPBRIDGE_ASCEND_SIZES(64)
#undef OPBRIDGE_ASCEND_SIZES

constexpr float PI = 3.14159265358979323846f;

}  // namespace AscendC
#endif
