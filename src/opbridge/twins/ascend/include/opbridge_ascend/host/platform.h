// The chip, as a tiling function asks for it: the numbers of cores are those of an Ascend910B2.
#ifndef OPBRIDGE_ASCEND_HOST_PLATFORM_H
#define OPBRIDGE_ASCEND_HOST_PLATFORM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace fe {

class PlatFormInfos {};

}  // namespace fe

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B, L0_C, L1, L2, UB, HBM, FB, BT, RESERVED };
enum class SocVersion {
  ASCEND910 = 0,
  ASCEND910B,
  ASCEND310P,
  ASCEND310B,
  ASCEND910_95,
  ASCEND910_93,
  RESERVED_VERSION
};

class PlatformAscendC {
 public:
  explicit PlatformAscendC(fe::PlatFormInfos*) {}

  uint32_t GetCoreNumAiv() const { return is_310p() ? 7 : 48; }
  uint32_t GetCoreNumAic() const { return is_310p() ? 8 : 24; }
  uint32_t GetCoreNum() const { return is_310p() ? 8 : 24; }
  uint32_t GetCoreNumVector() const { return is_310p() ? 7 : 0; }
  // For mixed kernels: the number of pairs of vector cores next to one core with a matrix unit.
  uint32_t CalcTschBlockDim(uint32_t sliced, uint32_t aic, uint32_t aiv) const {
    if (aic == 0 || aiv == 0 || aic > aiv) return sliced;
    const uint32_t ratio = aiv / aic;
    return (sliced + ratio - 1) / ratio;
  }
  SocVersion GetSocVersion() const { return is_310p() ? SocVersion::ASCEND310P : SocVersion::ASCEND910B; }
  void GetCoreMemSize(CoreMemType type, uint64_t& bytes) const {
    constexpr uint64_t kib = 1024;
    switch (type) {
      case CoreMemType::UB:
        bytes = (is_310p() ? 256 : 192) * kib;
        return;
      case CoreMemType::L1:
        bytes = (is_310p() ? 1024 : 512) * kib;
        return;
      case CoreMemType::L0_A:
      case CoreMemType::L0_B:
        bytes = 64 * kib;
        return;
      case CoreMemType::L0_C:
        bytes = (is_310p() ? 256 : 128) * kib;
        return;
      case CoreMemType::BT:
        bytes = kib;
        return;
      case CoreMemType::L2:
        bytes = 192 * kib * kib;
        return;
      default:
        bytes = 0;
    }
  }
  void GetCoreMemBw(CoreMemType, uint64_t& bandwidth) const { bandwidth = 110; }
  uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
  uint32_t GetResGroupBarrierWorkSpaceSize() const { return 0; }

 private:
  static bool is_310p() {
    const char* const chip = getenv("OPBRIDGE_ASCEND_SOC");
    return chip != nullptr && strncmp(chip, "Ascend310P", 10) == 0;
  }
};

// For hosts without a context that describes the chip.
class PlatformAscendCManager {
 public:
  static PlatformAscendC* GetInstance(const char* = nullptr) {
    static PlatformAscendC platform(nullptr);
    return &platform;
  }
};

}  // namespace platform_ascendc
#endif
