// Kernels that process one row at a time: sum, softmax and layer norm.
#include <opbridge/kernel.h>

#include "common.h"

// Buffers for one row, which is T in global memory and float in local memory.
template <class T>
class Rows {
 public:
  __aicore__ inline Rows(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t columns) : columns_(columns), share_(rows) {
    from_.SetGlobalBuffer((__gm__ T*)x, rows * columns);
    to_.SetGlobalBuffer((__gm__ T*)out);
    pipe_.InitBuffer(in_, 2, padded<T>(columns) * sizeof(T));
    pipe_.InitBuffer(done_, 2, padded<T>(columns) * sizeof(T));
    for (auto* memory : {&row_, &work_, &other_}) pipe_.InitBuffer(*memory, padded<float>(columns) * sizeof(float));
    pipe_.InitBuffer(scalar_, kUnit);
  }

 protected:
  __aicore__ inline LocalTensor<float> load_row(uint32_t index) {
    auto loaded = in_.template AllocTensor<T>();
    load(loaded, from_[index * columns_], columns_);
    in_.EnQue(loaded);
    loaded = in_.template DeQue<T>();
    auto row = row_.template Get<float>();
    to_float(row, loaded, columns_);
    in_.FreeTensor(loaded);
    return row;
  }

  __aicore__ inline void store_row(const LocalTensor<float>& values, uint32_t offset, uint32_t count) {
    auto result = done_.template AllocTensor<T>();
    from_float(result, values, count);
    done_.EnQue(result);
    result = done_.template DeQue<T>();
    store(to_[offset], result, count);
    done_.FreeTensor(result);
  }

  __aicore__ inline float sum(const LocalTensor<float>& values) {
    auto result = scalar_.template Get<float>();
    ReduceSum(result, values, work_.template Get<float>(), columns_);
    return to_scalar(result);
  }

  __aicore__ inline float largest(const LocalTensor<float>& values) {
    auto result = scalar_.template Get<float>();
    ReduceMax(result, values, work_.template Get<float>(), columns_);
    return to_scalar(result);
  }

  const uint32_t columns_;
  const Share share_;
  TBuf<TPosition::VECCALC> row_, work_, other_, scalar_;
  TPipe pipe_;

 private:
  __aicore__ inline float to_scalar(const LocalTensor<float>& result) {
    order<HardEvent::V_S>();
    const float value = result.GetValue(0);
    order<HardEvent::S_V>();
    return value;
  }

  TQue<TPosition::VECIN, 2> in_;
  TQue<TPosition::VECOUT, 2> done_;
  GlobalTensor<T> from_, to_;
};

template <class T>
class SumOfRow : Rows<T> {
 public:
  using Rows<T>::Rows;
  __aicore__ inline void run() {
    for (uint32_t index = this->share_.begin; index < this->share_.end; ++index) {
      const float total = this->sum(this->load_row(index));
      auto result = this->other_.template Get<float>();
      Duplicate(result, total, kUnit / sizeof(float));
      this->store_row(result, index, 1);
    }
  }
};

template <class T>
class SoftmaxOfRow : Rows<T> {
 public:
  using Rows<T>::Rows;
  __aicore__ inline void run() {
    for (uint32_t index = this->share_.begin; index < this->share_.end; ++index) {
      auto row = this->load_row(index);
      Adds(row, row, -this->largest(row), this->columns_);
      Exp(row, row, this->columns_);
      Muls(row, row, 1.0f / this->sum(row), this->columns_);
      this->store_row(row, index * this->columns_, this->columns_);
    }
  }
};

template <class T>
class NormOfRow : Rows<T> {
 public:
  using Rows<T>::Rows;
  __aicore__ inline void run(GM_ADDR weight, GM_ADDR bias, float epsilon) {
    TQue<TPosition::VECIN, 1> parameters;
    this->pipe_.InitBuffer(parameters, 2, padded<float>(this->columns_) * sizeof(float));
    auto scale = load_parameter(parameters, weight);
    auto shift = load_parameter(parameters, bias);
    const float fraction = 1.0f / this->columns_;
    for (uint32_t index = this->share_.begin; index < this->share_.end; ++index) {
      auto row = this->load_row(index);
      auto squares = this->other_.template Get<float>();
      Adds(row, row, -this->sum(row) * fraction, this->columns_);
      Mul(squares, row, row, this->columns_);
      Duplicate(squares[0], this->sum(squares) * fraction + epsilon, kUnit / sizeof(float));
      Sqrt(squares, squares, kUnit / sizeof(float));
      order<HardEvent::V_S>();
      const float deviation = squares.GetValue(0);
      order<HardEvent::S_V>();
      Muls(row, row, 1.0f / deviation, this->columns_);
      Mul(row, row, scale, this->columns_);
      Add(row, row, shift, this->columns_);
      this->store_row(row, index * this->columns_, this->columns_);
    }
    parameters.FreeTensor(scale);
    parameters.FreeTensor(shift);
  }

 private:
  __aicore__ inline LocalTensor<float> load_parameter(TQue<TPosition::VECIN, 1>& queue, GM_ADDR address) {
    GlobalTensor<float> from;
    from.SetGlobalBuffer((__gm__ float*)address, this->columns_);
    auto loaded = queue.AllocTensor<float>();
    load(loaded, from, this->columns_);
    queue.EnQue(loaded);
    return queue.DeQue<float>();
  }
};

template <class T, template <class> class Kernel>
__global__ __aicore__ void by_row(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t columns) {
  Kernel<T>(x, out, rows, columns).run();
}

template <class T>
__global__ __aicore__ void layer_norm_kernel(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR out, uint32_t rows,
                                             uint32_t columns, float epsilon) {
  NormOfRow<T>(x, out, rows, columns).run(weight, bias, epsilon);
}

template <class T>
void row_sum(ob::In<T> x, ob::Out<T> out, int64_t blocks, ob::Context context) {
  if (x.numel() == 0) return;
  by_row<T, SumOfRow>
      <<<blocks, nullptr, context.stream()>>>((GM_ADDR)x.data(), (GM_ADDR)out.data(), x.size(0), x.size(1));
}
OB_KERNEL(row_sum, half, float)

template <class T>
void softmax(ob::In<T> x, ob::Out<T> out, int64_t blocks, ob::Context context) {
  if (x.numel() == 0) return;
  by_row<T, SoftmaxOfRow>
      <<<blocks, nullptr, context.stream()>>>((GM_ADDR)x.data(), (GM_ADDR)out.data(), x.size(0), x.size(1));
}
OB_KERNEL(softmax, half, float)

template <class T>
void layer_norm(ob::In<T> x, ob::In<float> weight, ob::In<float> bias, ob::Out<T> out, double epsilon, int64_t blocks,
                ob::Context context) {
  if (x.numel() == 0) return;
  layer_norm_kernel<T><<<blocks, nullptr, context.stream()>>>((GM_ADDR)x.data(), (GM_ADDR)weight.data(),
                                                              (GM_ADDR)bias.data(), (GM_ADDR)out.data(), x.size(0),
                                                              x.size(1), epsilon);
}
OB_KERNEL(layer_norm, half, float)
