// Matmul: the product of a core's part of two matrices, in blocks as the host's tiling says.
//
// On hardware the vector core sends each call to the matrix unit's core, which goes through L1, L0 and Fixpipe.  Here
// the caller computes the product itself, in the same blocks; sums are of float or int32_t, as the unit's are.
#ifndef OPBRIDGE_ASCEND_MATMUL_H
#define OPBRIDGE_ASCEND_MATMUL_H

#include <kernel_tiling/kernel_tiling.h>

#include <algorithm>
#include <vector>

#include "cube.h"
#include "sync.h"

// Consecutive rows, or fractals of 16 x 32 bytes, column by column.  VECTOR is one row.
enum class CubeFormat { ND = 0, NZ, ND_ALIGN, VECTOR };

// How the hardware would cut the product; it changes nothing of the result.
struct MatmulConfig {
  bool doNorm = false, doMultiDataLoad = false;
  bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false;
};
constexpr MatmulConfig GetNormalConfig(bool intrinsicsLimit = false, bool batchLoop = false, bool isVecND2NZ = false) {
  return {true, false, intrinsicsLimit, batchLoop, isVecND2NZ};
}
constexpr MatmulConfig GetMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t = 0,
                                    bool isVecND2NZ = false) {
  return {false, true, intrinsicsLimit, batchLoop, isVecND2NZ};
}
constexpr MatmulConfig GetSpecialMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t = 0,
                                           bool isVecND2NZ = false) {
  return GetMDLConfig(intrinsicsLimit, batchLoop, 0, isVecND2NZ);
}
// Two vector cores share a matrix in L1, or the sizes of the blocks are constants.
constexpr MatmulConfig GetIBShareNormConfig(bool intrinsicsLimit = false, bool batchLoop = false,
                                            bool isVecND2NZ = false) {
  return {false, false, intrinsicsLimit, batchLoop, isVecND2NZ};
}
constexpr MatmulConfig GetBasicConfig(uint32_t, uint32_t, uint32_t, bool intrinsicsLimit = false,
                                      bool batchLoop = false) {
  return {false, false, intrinsicsLimit, batchLoop};
}
constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr MatmulConfig CFG_MDL = GetMDLConfig();
constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();

// The layout of a batch of matrices; NONE is one matrix.
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };

namespace AscendC {

using ::CFG_IBSHARE_NORM;
using ::CFG_MDL;
using ::CFG_NORM;
using ::CubeFormat;
using ::LayoutMode;

// A matrix of the product as its type says it; a template argument only, never an object.
template <TPosition position, CubeFormat matrix_format, class Type, bool transposed = false,
          LayoutMode batch_layout = LayoutMode::NONE, bool shares_l1 = false>
struct MatmulType {
  static_assert(batch_layout == LayoutMode::NONE,
                "opbridge's Ascend twin has no batched Matmul: LayoutMode::NONE only");
  static_assert(matrix_format != CubeFormat::ND_ALIGN,
                "opbridge's Ascend twin has no CubeFormat::ND_ALIGN: use ND, and DataCopyPad for rows with gaps");

  static constexpr TPosition pos = position;
  static constexpr CubeFormat format = matrix_format;
  static constexpr bool isTrans = transposed;
  using T = Type;
};

namespace detail {

constexpr bool is_by_rows(CubeFormat format) { return format != CubeFormat::NZ; }

// A matrix where it lies, by rows or in columns of fractals, of which one element can be asked for.
template <class T, CubeFormat format>
struct Operand {
  const T* data = nullptr;
  uint32_t rows = 0, columns = 0;  // as it is stored, which may be transposed
  bool is_local = false;
  Local local;
  Global global;

  void set(const GlobalTensor<T>& tensor) {
    data = tensor.data();
    is_local = false;
    global = tensor.memory();
  }
  void set(const LocalTensor<T>& tensor) {
    data = tensor.data();
    is_local = true;
    local = tensor.memory();
  }
  const T* at(uint32_t row, uint32_t column) const {
    if constexpr (is_by_rows(format)) return data + size_t{row} * columns + column;
    return data + in_columns(row, column, rows, kRow<T>);
  }
  void read(Instruction& instruction, const T* from, uint32_t count) const {
    if (is_local) {
      instruction.reads(local, from, count * sizeof(T));
    } else {
      instruction.reads(global, from, count * sizeof(T));
    }
  }
  // Into `to`, as numbers of type C: rows and columns as they are stored.
  template <class C>
  void load(Instruction& instruction, C* to, uint32_t row, uint32_t column, uint32_t height, uint32_t width) const {
    const uint32_t piece = is_by_rows(format) ? width : kRow<T>;
    for (uint32_t i = 0; i < height; ++i) {
      for (uint32_t j = 0; j < width;) {
        const uint32_t together = is_by_rows(format) ? piece : piece - (column + j) % piece;
        const uint32_t count = together < width - j ? together : width - j;
        const T* const from = at(row + i, column + j);
        read(instruction, from, count);
        for (uint32_t e = 0; e < count; ++e) to[size_t{i} * width + j + e] = static_cast<C>(from[e]);
        j += count;
      }
    }
  }
};

template <class C>
std::vector<C> transposed(const std::vector<C>& matrix, uint32_t rows, uint32_t columns) {
  std::vector<C> result(matrix.size());
  for (uint32_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < columns; ++j) result[size_t{j} * rows + i] = matrix[size_t{i} * columns + j];
  }
  return result;
}

// The low 13 bits of the float are not kept.
inline float factor_of(uint64_t bits) {
  const uint32_t kept = static_cast<uint32_t>(bits) & 0xffffe000u;
  float factor;
  memcpy(&factor, &kept, sizeof factor);
  return factor;
}

inline void fits(Instruction& instruction, const TCubeTiling& t, size_t bytes_a, size_t bytes_b) {
  constexpr size_t kLeftOrRight = 64 * 1024, kSums = 128 * 1024;
  const auto positive = [&](const char* name, int32_t value) {
    instruction.requires_that(value > 0, name, value, "more than 0: has the host given this tiling?");
  };
  positive("singleCoreM", t.singleCoreM);
  positive("singleCoreN", t.singleCoreN);
  positive("singleCoreK", t.singleCoreK);
  positive("baseM", t.baseM);
  positive("baseN", t.baseN);
  positive("baseK", t.baseK);
  const size_t m = t.baseM, n = t.baseN, k = t.baseK;
  const auto within = [&](const char* name, size_t bytes, size_t most, const char* expected) {
    instruction.requires_that(bytes <= most, name, static_cast<int64_t>(bytes), expected);
  };
  within("baseM x baseK", m * k * bytes_a, kLeftOrRight, "at most 65536 bytes, which L0A holds");
  within("baseK x baseN", k * n * bytes_b, kLeftOrRight, "at most 65536 bytes, which L0B holds");
  within("baseM x baseN", m * n * 4, kSums, "at most 131072 bytes of sums, which L0C holds");
}

}  // namespace detail

template <class AType, class BType, class CType, class BiasType = CType, const MatmulConfig& config = CFG_NORM>
class Matmul {
  using A = typename AType::T;
  using B = typename BType::T;
  using C = typename CType::T;
  using Bias = typename BiasType::T;
  using Sum = detail::SumOfProducts<A, B>;
  static_assert(!std::is_void_v<Sum>,
                "opbridge's Ascend twin multiplies half, bfloat16_t, float and int8_t, each by itself");
  // Sums of int8_t, each multiplied by a factor on its way out.
  static constexpr bool kQuantised = std::is_same_v<Sum, int32_t> && std::is_same_v<C, half>;
  static_assert(std::is_same_v<C, Sum> || (std::is_same_v<Sum, float> && sizeof(C) == 2) || kQuantised,
                "opbridge's Ascend twin stores products as float, half, bfloat16_t or int32_t, and not as int8_t");

 public:
  void Init(const TCubeTiling* tiling, TPipe* = nullptr, Place at = Place::here()) {
    Instruction instruction("REGIST_MATMUL_OBJ", PIPE_S, at);
    tiling_ = *tiling;
    detail::fits(instruction, tiling_, sizeof(A), sizeof(B));
    SetOrgShape(tiling_.M, tiling_.N, tiling_.Ka, tiling_.Kb);
    SetSingleShape(tiling_.singleCoreM, tiling_.singleCoreN, tiling_.singleCoreK);
  }
  void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
  void SetOrgShape(int m, int n, int ka, int kb, int c_columns = 0) {
    m_ = static_cast<uint32_t>(m);
    n_ = static_cast<uint32_t>(n);
    ka_ = static_cast<uint32_t>(ka);
    kb_ = static_cast<uint32_t>(kb);
    c_columns_ = static_cast<uint32_t>(c_columns > 0 ? c_columns : n);
  }
  void SetSingleShape(int m, int n, int k) {
    single_m_ = static_cast<uint32_t>(m);
    single_n_ = static_cast<uint32_t>(n);
    single_k_ = static_cast<uint32_t>(k);
    restart();
  }
  // The last part of a matrix is often smaller; what is -1 stays.
  void SetTail(int m = -1, int n = -1, int k = -1) {
    SetSingleShape(m < 0 ? static_cast<int>(single_m_) : m, n < 0 ? static_cast<int>(single_n_) : n,
                   k < 0 ? static_cast<int>(single_k_) : k);
  }
  void SetTensorA(const GlobalTensor<A>& tensor, bool transpose = false) { set(a_, tensor, transpose_a_, transpose); }
  void SetTensorA(const LocalTensor<A>& tensor, bool transpose = false) { set(a_, tensor, transpose_a_, transpose); }
  void SetTensorB(const GlobalTensor<B>& tensor, bool transpose = false) { set(b_, tensor, transpose_b_, transpose); }
  void SetTensorB(const LocalTensor<B>& tensor, bool transpose = false) { set(b_, tensor, transpose_b_, transpose); }
  void SetBias(const GlobalTensor<Bias>& tensor) { set_bias(tensor); }
  void SetBias(const LocalTensor<Bias>& tensor) { set_bias(tensor); }
  // The factor of all sums, or one for each column: a float, of which 19 bits count.
  void SetQuantScalar(uint64_t quantScalar) {
    factor_ = quantScalar;
    quantises_ = Quantises::by_one;
  }
  void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor) {
    factors_ = quantTensor;
    quantises_ = Quantises::by_columns;
  }
  void DisableBias() { has_bias_ = false; }
  void ClearBias() { DisableBias(); }
  // The twin computes where it stands, and needs no memory for what is under way.
  void SetWorkspace(const GlobalTensor<uint8_t>&) {}
  void SetWorkspace(__gm__ const uint8_t*, uint32_t) {}
  void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
  void End() {}

  // The next block of the product; false where there is none.  enPartialSum adds to what the call before has left.
  template <bool sync = true>
  bool Iterate(bool enPartialSum = false, Place at = Place::here()) {
    const uint32_t down = detail::divided_up(single_m_, base_m()), across = detail::divided_up(single_n_, base_n());
    if (next_ >= down * across) {
      restart();
      return false;
    }
    const bool by_columns = tiling_.iterateOrder == 0;
    row_ = (by_columns ? next_ % down : next_ / across) * base_m();
    column_ = (by_columns ? next_ / down : next_ % across) * base_n();
    height_ = least(base_m(), single_m_ - row_);
    width_ = least(base_n(), single_n_ - column_);
    ++next_;
    Instruction instruction("Iterate", PIPE_S, at);
    compute(instruction, enPartialSum);
    return true;
  }

  template <bool sync = true>
  void GetTensorC(const GlobalTensor<C>& to, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  Place at = Place::here()) {
    Instruction instruction("GetTensorC", PIPE_S, at);
    const auto before = opbridge_ascend::registers().atomic;
    if (enAtomic != 0) opbridge_ascend::registers().atomic = static_cast<opbridge_ascend::Atomic>(enAtomic);
    const uint32_t row = enSequentialWrite ? 0 : row_, column = enSequentialWrite ? 0 : column_;
    const uint32_t columns = enSequentialWrite ? width_ : c_columns_, rows = enSequentialWrite ? height_ : m_;
    each_stored(row, column, rows, columns, [&](size_t offset, const Sum* sums, uint32_t count) {
      const std::vector<C> stored = as_stored(instruction, sums, count);
      instruction.writes(to.memory(), to.data() + offset, count * sizeof(C));
      detail::store(to.memory(), to.data() + offset, stored.data(), count);
    });
    opbridge_ascend::registers().atomic = before;
    opbridge_ascend::barrier(PIPE_ALL);
  }
  // A block by itself, its rows without gaps.
  template <bool sync = true>
  void GetTensorC(const LocalTensor<C>& to, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  Place at = Place::here()) {
    opbridge_ascend::barrier(PIPE_ALL);
    Instruction instruction("GetTensorC", PIPE_S, at);
    instruction.requires_that(enAtomic == 0, "enAtomic", enAtomic, "0 for local memory");
    each_stored(0, 0, height_, width_, [&](size_t offset, const Sum* sums, uint32_t count) {
      instruction.writes(to.memory(), to.data() + offset, count * sizeof(C));
      const std::vector<C> stored = as_stored(instruction, sums, count);
      std::copy(stored.begin(), stored.end(), to.data() + offset);
    });
    opbridge_ascend::barrier(PIPE_ALL);
  }

  template <bool sync = true>
  void IterateAll(const GlobalTensor<C>& to, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  bool /*waitIterateAll*/ = false, bool /*fakeMsg*/ = false, Place at = Place::here()) {
    restart();
    while (Iterate<sync>(false, at)) GetTensorC<sync>(to, enAtomic, enSequentialWrite, at);
  }
  template <bool sync = true>
  void IterateAll(const LocalTensor<C>& to, uint8_t enAtomic = 0, Place at = Place::here()) {
    Instruction("IterateAll", PIPE_S, at)
        .requires_that(single_m_ <= base_m() && single_n_ <= base_n(), "singleCoreM x singleCoreN",
                       int64_t{single_m_} * single_n_, "one block of baseM x baseN, for local memory");
    restart();
    while (Iterate<sync>(false, at)) GetTensorC<sync>(to, enAtomic, false, at);
  }
  void WaitIterateAll() {}

 private:
  static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
  uint32_t base_m() const { return static_cast<uint32_t>(tiling_.baseM); }
  uint32_t base_n() const { return static_cast<uint32_t>(tiling_.baseN); }
  void restart() { next_ = 0; }

  template <class M, class Tensor>
  void set(M& matrix, const Tensor& tensor, bool& transposed, bool transpose) {
    matrix.set(tensor);
    transposed = transpose;
    restart();
  }
  template <class Tensor>
  void set_bias(const Tensor& tensor) {
    bias_.set(tensor);
    has_bias_ = true;
  }

  // A matrix in global memory is as large as all of it; one in local memory is the core's part alone.
  template <class M>
  M shaped(const M& matrix, bool transposed, uint32_t rows, uint32_t columns) const {
    M result = matrix;
    result.rows = transposed ? columns : rows;
    result.columns = transposed ? rows : columns;
    return result;
  }

  void compute(Instruction& instruction, bool adds) {
    opbridge_ascend::barrier(PIPE_ALL);
    const auto a = shaped(a_, transpose_a_, a_.is_local ? single_m_ : m_, a_.is_local ? single_k_ : ka_);
    const auto b = shaped(b_, transpose_b_, b_.is_local ? single_k_ : kb_, b_.is_local ? single_n_ : n_);
    std::vector<Sum> left(size_t{height_} * single_k_), right(size_t{single_k_} * width_);
    if (transpose_a_) {
      a.load(instruction, left.data(), 0, row_, single_k_, height_);
      left = detail::transposed(left, single_k_, height_);
    } else {
      a.load(instruction, left.data(), row_, 0, height_, single_k_);
    }
    if (transpose_b_) {
      b.load(instruction, right.data(), column_, 0, width_, single_k_);
      right = detail::transposed(right, width_, single_k_);
    } else {
      b.load(instruction, right.data(), 0, column_, single_k_, width_);
    }
    if (!adds) start_sums(instruction);
    detail::multiply(sums_.data(), left.data(), right.data(), height_, width_, single_k_);
  }

  void start_sums(Instruction& instruction) {
    sums_.assign(size_t{height_} * width_, Sum(0));
    if (!has_bias_) return;
    std::vector<Sum> bias(width_);
    auto row = bias_;
    row.rows = 1;
    row.columns = bias_.is_local ? single_n_ : n_;
    row.load(instruction, bias.data(), 0, column_, 1, width_);
    for (uint32_t i = 0; i < height_; ++i) {
      for (uint32_t j = 0; j < width_; ++j) sums_[size_t{i} * width_ + j] = bias[j];
    }
  }

  // What becomes of neighbours in a row of sums_.
  std::vector<C> as_stored(Instruction& instruction, const Sum* sums, uint32_t count) {
    if constexpr (!kQuantised) return std::vector<C>(sums, sums + count);
    instruction.requires_that(quantises_ != Quantises::not_at_all, "a factor for sums of int8_t", 0,
                              "SetQuantScalar or SetQuantVector before, as the result is half");
    const size_t first = static_cast<size_t>(sums - sums_.data()) % width_;
    std::vector<C> stored(count);
    for (uint32_t i = 0; i < count; ++i) {
      stored[i] = C(static_cast<float>(sums[i]) * detail::factor_of(factor_at(instruction, column_ + first + i)));
    }
    return stored;
  }
  uint64_t factor_at(Instruction& instruction, size_t column) {
    if (quantises_ != Quantises::by_columns) return factor_;
    instruction.reads(factors_.memory(), factors_.data() + column, sizeof(uint64_t));
    return factors_.data()[column];
  }

  // Calls store(offset, sums, count) for what of the block lies together where it goes.
  template <class Store>
  void each_stored(uint32_t row, uint32_t column, uint32_t rows, uint32_t columns, Store store) {
    constexpr bool by_rows = detail::is_by_rows(CType::format);
    for (uint32_t i = 0; i < height_; ++i) {
      for (uint32_t j = 0; j < width_;) {
        const uint32_t together = by_rows ? width_ : detail::kSide - (column + j) % detail::kSide;
        const uint32_t count = least(together, width_ - j);
        const size_t offset = by_rows ? size_t{row + i} * columns + column + j
                                      : detail::in_columns(row + i, column + j, rows, detail::kSide);
        store(offset, sums_.data() + size_t{i} * width_ + j, count);
        j += count;
      }
    }
  }

  TCubeTiling tiling_;
  uint32_t m_ = 0, n_ = 0, ka_ = 0, kb_ = 0, c_columns_ = 0;
  uint32_t single_m_ = 0, single_n_ = 0, single_k_ = 0;
  detail::Operand<A, AType::format> a_;
  detail::Operand<B, BType::format> b_;
  detail::Operand<Bias, CubeFormat::ND> bias_;
  bool transpose_a_ = false, transpose_b_ = false, has_bias_ = false;

  enum class Quantises : uint8_t { not_at_all, by_one, by_columns };
  Quantises quantises_ = Quantises::not_at_all;
  uint64_t factor_ = 0;
  GlobalTensor<uint64_t> factors_;

  uint32_t next_ = 0;  // blocks that Iterate has computed
  uint32_t row_ = 0, column_ = 0, height_ = 0, width_ = 0;
  std::vector<Sum> sums_;
};

template <class AType, class BType, class CType, class BiasType = CType, const MatmulConfig& config = CFG_NORM>
using MatmulImpl = Matmul<AType, BType, CType, BiasType, config>;

namespace detail {

template <class M>
void register_matmul(Place at, TPipe* pipe, M& matmul, const TCubeTiling* tiling) {
  opbridge_ascend::serve_matmul();
  // Without one the kernel calls Init itself.
  if (tiling != nullptr) matmul.Init(tiling, pipe, at);
}
template <class M, class... Rest>
void register_matmul(Place at, TPipe* pipe, M& matmul, const TCubeTiling* tiling, Rest&&... rest) {
  register_matmul(at, pipe, matmul, tiling);
  register_matmul(at, pipe, rest...);
}
template <class M>
void register_matmul(Place, TPipe*, M&) {}

}  // namespace detail

}  // namespace AscendC

// This namespace exports the other one.
namespace matmul {

using namespace AscendC;

}  // namespace matmul

#define REGIST_MATMUL_OBJ(pipe, workspace, ...) \
  ::AscendC::detail::register_matmul(::AscendC::Place::here(), pipe, __VA_ARGS__)

#endif
