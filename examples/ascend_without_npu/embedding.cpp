// out[i] = table[index[i]]: gathers rows from anywhere in global memory.
#include <opbridge/kernel.h>

#include "common.h"

template <class T>
__global__ __aicore__ void embedding_kernel(GM_ADDR table, GM_ADDR index, GM_ADDR out, uint32_t rows, uint32_t count,
                                            uint32_t columns) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> rows_on_the_way;
  pipe.InitBuffer(rows_on_the_way, 2, padded<T>(columns) * sizeof(T));
  GlobalTensor<T> from, to;
  GlobalTensor<int64_t> indices;
  from.SetGlobalBuffer((__gm__ T*)table, rows * columns);
  to.SetGlobalBuffer((__gm__ T*)out, count * columns);
  indices.SetGlobalBuffer((__gm__ int64_t*)index, count);

  const Share share(count);
  for (uint32_t i = share.begin; i < share.end; ++i) {
    auto row = rows_on_the_way.template AllocTensor<T>();
    load(row, from[indices.GetValue(i) * columns], columns);
    rows_on_the_way.EnQue(row);
    row = rows_on_the_way.template DeQue<T>();
    store(to[i * columns], row, columns);
    rows_on_the_way.FreeTensor(row);
  }
}

template <class T>
void embedding(ob::In<T> table, ob::In<int64_t> index, ob::Out<T> out, int64_t blocks, ob::Context context) {
  if (out.numel() == 0) return;
  embedding_kernel<T><<<blocks, nullptr, context.stream()>>>(
      (GM_ADDR)table.data(), (GM_ADDR)index.data(), (GM_ADDR)out.data(), table.size(0), index.numel(), table.size(1));
}
OB_KERNEL(embedding, half, float)
