// matmul_tiling: a host says what is multiplied, and gets the TCubeTiling that its kernel wants.
//
// The division is a right one, and not the one that the vendor's library finds: its speed on hardware is not the twin's
// to tell.
#ifndef OPBRIDGE_ASCEND_MATMUL_TILING_H
#define OPBRIDGE_ASCEND_MATMUL_TILING_H

#include <kernel_tiling/kernel_tiling.h>
#include <stdint.h>

#include <initializer_list>

namespace matmul_tiling {

// As AscendC::TPosition, which the host's side cannot see: a tiling function includes no kernel's headers.
enum class TPosition { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM, SPM, TSCM, MAX };
enum class CubeFormat { ND, NZ, ND_ALIGN, VECTOR };
enum class DataType { DT_FLOAT, DT_FLOAT16, DT_INT8, DT_INT32, DT_BFLOAT16, DT_BF16 = DT_BFLOAT16 };
enum class DequantType { SCALAR = 1, TENSOR = 2 };
enum class MatrixTraverse { NOSET, FIRSTM, FIRSTN };

// The host's side: it checks what the kernel will need, and writes sizes; there is nothing to tune on a CPU.
class MatmulApiTiling {
 public:
  MatmulApiTiling() = default;
  // What a platform's description says is not needed here.
  template <class Platform>
  explicit MatmulApiTiling(const Platform&) {}

  int32_t SetAType(TPosition, CubeFormat, DataType type, bool transposed = false) {
    (void)transposed;  // the kernel says it again, in SetTensorA
    bytes_ = type == DataType::DT_FLOAT ? 4 : type == DataType::DT_INT8 ? 1 : 2;
    return 0;
  }
  int32_t SetBType(TPosition position, CubeFormat format, DataType type, bool transposed = false) {
    return SetAType(position, format, type, transposed);
  }
  int32_t SetCType(TPosition, CubeFormat, DataType) { return 0; }
  int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
  int32_t SetShape(int32_t m, int32_t n, int32_t k) {
    m_ = m;
    n_ = n;
    k_ = k;
    return 0;
  }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    whole_m_ = m;
    whole_n_ = n;
    whole_ka_ = ka;
    whole_kb_ = kb;
    return 0;
  }
  int32_t SetDequantType(DequantType) { return 0; }  // the kernel says it again
  int32_t SetBias(bool bias) { return EnableBias(bias); }
  int32_t EnableBias(bool bias) {
    has_bias_ = bias;
    return 0;
  }
  int32_t SetFixSplit(int32_t base_m = -1, int32_t base_n = -1, int32_t base_k = -1) {
    base_m_ = base_m;
    base_n_ = base_n;
    base_k_ = base_k;
    return 0;
  }
  int32_t SetTraverse(MatrixTraverse traverse) {
    by_rows_ = traverse == MatrixTraverse::FIRSTN;
    return 0;
  }
  int32_t SetBufferSpace(int32_t /*l1*/ = -1, int32_t /*l0c*/ = -1, int32_t /*ub*/ = -1, int32_t /*bt*/ = -1) {
    return 0;
  }
  int32_t GetBaseM() const { return base(base_m_, single_m()); }
  int32_t GetBaseN() const { return base(base_n_, single_n()); }
  // As much of it as L0A and L0B hold two of.
  int32_t GetBaseK() const {
    const int32_t row = 32 / bytes_, longest = base_m_or_n() == 0 ? row : 32 * 1024 / bytes_ / base_m_or_n();
    const int32_t most = longest / row * row;
    const int32_t wanted = base_k_ > 0 ? base_k_ : rounded_up(k_, row);
    return wanted < most || base_k_ > 0 ? wanted : most;
  }

  // 0, or -1 for a product of nothing.
  int64_t GetTiling(TCubeTiling& tiling) const {
    if (m_ <= 0 || n_ <= 0 || k_ <= 0) return -1;
    tiling.set_usedCoreNum(cores_m_ * cores_n_);
    tiling.set_M(whole_m_ > 0 ? whole_m_ : m_);
    tiling.set_N(whole_n_ > 0 ? whole_n_ : n_);
    tiling.set_Ka(whole_ka_ > 0 ? whole_ka_ : k_);
    tiling.set_Kb(whole_kb_ > 0 ? whole_kb_ : k_);
    tiling.set_singleCoreM(single_m());
    tiling.set_singleCoreN(single_n());
    tiling.set_singleCoreK(k_);
    tiling.set_baseM(GetBaseM());
    tiling.set_baseN(GetBaseN());
    tiling.set_baseK(GetBaseK());
    tiling.set_isBias(has_bias_ ? 1 : 0);
    tiling.set_iterateOrder(by_rows_ ? 1 : 0);
    for (auto set : {&TCubeTiling::set_depthA1, &TCubeTiling::set_depthB1, &TCubeTiling::set_stepM,
                     &TCubeTiling::set_stepN, &TCubeTiling::set_stepKa, &TCubeTiling::set_stepKb}) {
      (tiling.*set)(1);
    }
    return 0;
  }

 protected:
  static int32_t divided_up(int32_t n, int32_t by) { return (n + by - 1) / by; }
  static int32_t rounded_up(int32_t n, int32_t to) { return divided_up(n, to) * to; }

  int32_t single_m() const { return cores_m_ == 1 ? m_ : rounded_up(divided_up(m_, cores_m_), kSide); }
  int32_t single_n() const { return cores_n_ == 1 ? n_ : rounded_up(divided_up(n_, cores_n_), kSide); }

  static constexpr int32_t kSide = 16;

  int32_t m_ = 0, n_ = 0, k_ = 0;
  int32_t cores_m_ = 1, cores_n_ = 1;

 private:
  static constexpr int32_t kMostOfBlock = 128;

  static int32_t base(int32_t fixed, int32_t single) {
    const int32_t whole = rounded_up(single, kSide);
    return fixed > 0 ? fixed : whole < kMostOfBlock ? whole : kMostOfBlock;
  }
  int32_t base_m_or_n() const { return GetBaseM() > GetBaseN() ? GetBaseM() : GetBaseN(); }

  int32_t whole_m_ = 0, whole_n_ = 0, whole_ka_ = 0, whole_kb_ = 0;
  int32_t base_m_ = -1, base_n_ = -1, base_k_ = -1;
  int32_t bytes_ = 2;
  bool has_bias_ = false, by_rows_ = false;
};

// Divides M and N among cores; a core's part is a multiple of 16 rows and columns, so that the last ones may be
// smaller.
class MultiCoreMatmulTiling : public MatmulApiTiling {
 public:
  using MatmulApiTiling::MatmulApiTiling;

  int32_t SetDim(int32_t cores) {
    cores_ = cores;
    return 0;
  }
  int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) {
    fixed_m_ = m;
    fixed_n_ = n;
    return k == -1 || k == k_ ? 0 : -1;
  }
  int64_t GetTiling(TCubeTiling& tiling) {
    if (m_ <= 0 || n_ <= 0) return -1;
    divide();
    const int64_t result = MatmulApiTiling::GetTiling(tiling);
    if (fixed_m_ > 0) tiling.set_singleCoreM(fixed_m_);
    if (fixed_n_ > 0) tiling.set_singleCoreN(fixed_n_);
    return result;
  }
  int32_t GetCoreNum(int32_t& cores, int32_t& cores_m, int32_t& cores_n) const {
    cores = cores_m_ * cores_n_;
    cores_m = cores_m_;
    cores_n = cores_n_;
    return 0;
  }
  int32_t GetSingleShape(int32_t& m, int32_t& n, int32_t& k) const {
    m = fixed_m_ > 0 ? fixed_m_ : single_m();
    n = fixed_n_ > 0 ? fixed_n_ : single_n();
    k = k_;
    return 0;
  }

 private:
  // The division whose largest part is the smallest, of all that have cores enough.
  void divide() {
    cores_m_ = fixed_m_ > 0 ? divided_up(m_, fixed_m_) : 1;
    cores_n_ = fixed_n_ > 0 ? divided_up(n_, fixed_n_) : 1;
    if (fixed_m_ > 0 || fixed_n_ > 0) return;
    const int32_t rows = divided_up(m_, kSide), columns = divided_up(n_, kSide);
    int64_t best = int64_t{rows} * columns;
    for (int32_t down = 1; down <= rows && down <= cores_; ++down) {
      const int32_t across = cores_ / down < columns ? cores_ / down : columns;
      const int32_t part_m = divided_up(rows, down), part_n = divided_up(columns, across);
      if (int64_t{part_m} * part_n >= best) continue;
      best = int64_t{part_m} * part_n;
      // Parts of this size may need fewer cores.
      cores_m_ = divided_up(rows, part_m);
      cores_n_ = divided_up(columns, part_n);
    }
  }

  int32_t cores_ = 1;
  int32_t fixed_m_ = -1, fixed_n_ = -1;
};

}  // namespace matmul_tiling
#endif
