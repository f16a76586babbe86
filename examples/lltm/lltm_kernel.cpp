// The cell with kernel.h only: one pass forward and three passes backward.
//
// Columns of a batch fill the lanes of a register, so that a matrix product is one broadcast weight times one register
// of the batch, and gates are computed where their sums are, in registers.
#include <opbridge/kernel.h>

#include <algorithm>

#include "lanes.h"

namespace {

using lanes::count;
using lanes::Lanes;

// The number of units computed together: their sums, one for each gate, stay in registers.
constexpr int64_t kUnits = 4;
// Less work than this takes less time than starting another thread.
constexpr int64_t kWorthAThread = 1 << 18;

struct Sizes {
  int64_t batch, state, inputs, width;
};

template <class T>
Sizes sizes_of(ob::In<T> x, ob::In<T> h, ob::In<T> weights) {
  OB_CHECK(x.ndim() == 2 && h.ndim() == 2 && x.size(0) == h.size(0), "x has shape ", x.shape(), " and h ", h.shape(),
           "; expected two matrices with a row for each member of the batch");
  const Sizes s{x.size(0), h.size(1), x.size(1), h.size(1) + x.size(1)};
  OB_CHECK(weights.ndim() == 2 && weights.size(0) == 3 * s.state && weights.size(1) == s.width, "weights have shape ",
           weights.shape(), ", expected [", 3 * s.state, ", ", s.width, "]");
  return s;
}

// Returns how many of `pieces` of work justify a thread.
int64_t grain(int64_t pieces, int64_t operations) { return pieces * kWorthAThread / (operations + 1) + 1; }

template <int64_t block>
int64_t blocks_of(int64_t n) {
  return (n + block - 1) / block;
}

// Calls some(i, n) for n indices from i on, where n is a constant: `block`, and 1 for the rest.
template <int64_t block, class F>
void in_blocks(int64_t i, int64_t end, F some) {
  for (; i + block <= end; i += block) some(i, std::integral_constant<int64_t, block>());
  for (; i < end; ++i) some(i, std::integral_constant<int64_t, 1>());
}

// Turns up to a register full of rows into lanes: out[j] contains their column j, followed by zeros.
template <class T>
void to_lanes(const T* matrix, int64_t width, int64_t rows, Lanes<T>* out) {
  int64_t j = 0;
  for (; rows == count<T> && j + count<T> <= width; j += count<T>) {
    for (int64_t i = 0; i < count<T>; ++i) out[j + i] = lanes::load(matrix + i * width + j);
    lanes::transpose<T>(out + j);
  }
  for (; j < width; ++j) {
    out[j] = Lanes<T>{};
    for (int64_t i = 0; i < rows; ++i) out[j][i] = matrix[i * width + j];
  }
}

// The inverse; it overwrites its input.
template <class T>
void from_lanes(Lanes<T>* in, int64_t width, int64_t rows, T* matrix) {
  int64_t j = 0;
  for (; rows == count<T> && j + count<T> <= width; j += count<T>) {
    lanes::transpose<T>(in + j);
    for (int64_t i = 0; i < count<T>; ++i) lanes::store(matrix + i * width + j, in[j + i]);
  }
  for (; j < width; ++j)
    for (int64_t i = 0; i < rows; ++i) matrix[i * width + j] = in[j][i];
}

}  // namespace

template <class T>
void lltm(ob::In<T> x, ob::In<T> h, ob::In<T> c, ob::In<T> weights, ob::In<T> bias, ob::Out<T> new_h, ob::Out<T> new_c,
          ob::Out<T> gates) {
  constexpr int64_t n_lanes = count<T>;
  const Sizes s = sizes_of(x, h, weights);
  OB_CHECK(c.ndim() == 2 && c.size(0) == s.batch && c.size(1) == s.state, "c has shape ", c.shape(),
           ", expected that of h, ", h.shape());
  OB_CHECK(bias.numel() == 3 * s.state, "bias has shape ", bias.shape(), ", expected [", 3 * s.state, "]");
  auto* z = ob::scratch<Lanes<T>>(s.width + 2 * s.state);
  Lanes<T>*memory = z + s.width, *answer = memory + s.state;
  for (int64_t first = 0; first < s.batch; first += n_lanes) {
    const int64_t rows = std::min(s.batch - first, n_lanes);
    to_lanes(h.data() + first * s.state, s.state, rows, z);
    to_lanes(x.data() + first * s.inputs, s.inputs, rows, z + s.state);
    to_lanes(c.data() + first * s.state, s.state, rows, memory);
    const auto some_units = [=](int64_t unit, auto units) {
      constexpr int64_t n = decltype(units)::value;
      Lanes<T> sums[3][n];
      for (int64_t g = 0; g < 3; ++g)
        for (int64_t u = 0; u < n; ++u) sums[g][u] = bias[g * s.state + unit + u] + Lanes<T>{};
      const T* w0 = weights.data() + unit * s.width;
      const T* w1 = w0 + s.state * s.width;
      const T* w2 = w1 + s.state * s.width;
      for (int64_t k = 0; k < s.width; ++k, ++w0, ++w1, ++w2) {
        const Lanes<T> zk = z[k];
#pragma GCC unroll 4
        for (int64_t u = 0; u < n; ++u) {
          sums[0][u] += w0[u * s.width] * zk;
          sums[1][u] += w1[u * s.width] * zk;
          sums[2][u] += w2[u * s.width] * zk;
        }
      }
      for (int64_t u = 0; u < n; ++u) {
        const Lanes<T> in = lanes::sigmoid<T>(sums[0][u]), out = lanes::sigmoid<T>(sums[1][u]);
        const Lanes<T> candidate = lanes::elu<T>(sums[2][u]);
        memory[unit + u] += in * candidate;
        const Lanes<T> t = lanes::tanh<T>(memory[unit + u]);
        answer[unit + u] = out * t;
        T* kept = gates.data() + (unit + u) * s.batch + first;
        for (const Lanes<T>& value : {in, out, candidate, t}) {
          lanes::store(kept, value, rows);
          kept += s.state * s.batch;
        }
      }
    };
    const int64_t pieces = blocks_of<kUnits>(s.state);
    ob::parallel_for(
        pieces,
        [=](int64_t piece) {
          in_blocks<kUnits>(piece * kUnits, std::min(piece * kUnits + kUnits, s.state), some_units);
        },
        grain(pieces, n_lanes * 3 * s.state * s.width));
    from_lanes(answer, s.state, rows, new_h.data() + first * s.state);
    from_lanes(memory, s.state, rows, new_c.data() + first * s.state);
  }
}
OB_KERNEL(lltm, float, double)

template <class T>
void lltm_backward(ob::In<T> grad_new_h, ob::In<T> grad_new_c, ob::In<T> grad_gates, ob::In<T> gates, ob::In<T> x,
                   ob::In<T> h, ob::In<T> weights, ob::Out<T> grad_x, ob::Out<T> grad_h, ob::Out<T> grad_c,
                   ob::Out<T> grad_weights, ob::Out<T> grad_bias) {
  constexpr int64_t n_lanes = count<T>;
  const Sizes s = sizes_of(x, h, weights);
  const int64_t columns = blocks_of<n_lanes>(s.batch), n_gates = 3 * s.state;

  // Computes the gradients of the sums, by columns of the batch.
  auto* deltas = ob::scratch<Lanes<T>>(columns * n_gates);
  auto* d_answer = ob::scratch<Lanes<T>>(2 * s.state);
  Lanes<T>* d_memory = d_answer + s.state;
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t first = column * n_lanes, rows = std::min(s.batch - first, n_lanes);
    Lanes<T>* delta = deltas + column * n_gates;
    to_lanes(grad_new_h.data() + first * s.state, s.state, rows, d_answer);
    to_lanes(grad_new_c.data() + first * s.state, s.state, rows, d_memory);
    const int64_t next = s.state * s.batch;
    for (int64_t unit = 0; unit < s.state; ++unit) {
      const T* kept = gates.data() + unit * s.batch + first;
      const Lanes<T> in = lanes::load(kept, rows), out = lanes::load(kept + next, rows);
      const Lanes<T> candidate = lanes::load(kept + 2 * next, rows), t = lanes::load(kept + 3 * next, rows);
      const T* given = grad_gates.data() + unit * s.batch + first;
      const Lanes<T> d_in = lanes::load(given, rows), d_out = lanes::load(given + next, rows);
      const Lanes<T> d_candidate = lanes::load(given + 2 * next, rows), d_t = lanes::load(given + 3 * next, rows);
      d_memory[unit] += (d_answer[unit] * out + d_t) * (1 - t * t);
      delta[unit] = (d_memory[unit] * candidate + d_in) * in * (1 - in);
      delta[s.state + unit] = (d_answer[unit] * t + d_out) * out * (1 - out);
      delta[2 * s.state + unit] =
          (d_memory[unit] * in + d_candidate) * (candidate > 0 ? 1 + Lanes<T>{} : candidate + 1);
    }
    from_lanes(d_memory, s.state, rows, grad_c.data() + first * s.state);
  }

  const int64_t parts = (s.width + 2 * n_lanes - 1) / (2 * n_lanes) * 2;
  auto* z = ob::scratch<Lanes<T>>(s.batch * parts);
  for (int64_t b = 0; b < s.batch; ++b) {
    T* row = reinterpret_cast<T*>(z + b * parts);
    std::copy_n(h.data() + b * s.state, s.state, row);
    std::copy_n(x.data() + b * s.inputs, s.inputs, row + s.state);
    std::fill(row + s.width, row + parts * n_lanes, T(0));
  }

  // The gradients of the cell's inputs: each column of the weights times the deltas.
  auto* d_z = ob::scratch<Lanes<T>>(columns * s.width);
  const auto some_inputs = [=](int64_t k, auto some) {
    constexpr int64_t n = decltype(some)::value;
    for (int64_t column = 0; column < columns; ++column) {
      const Lanes<T>* delta = deltas + column * n_gates;
      Lanes<T> sums[n] = {};
      const T* w = weights.data() + k;
      for (int64_t g = 0; g < n_gates; ++g, w += s.width) {
        const Lanes<T> d = delta[g];
#pragma GCC unroll 16
        for (int64_t j = 0; j < n; ++j) sums[j] += w[j] * d;
      }
      for (int64_t j = 0; j < n; ++j) d_z[column * s.width + k + j] = sums[j];
    }
  };

  // The gradients of weights and bias: lanes are now neighbours in a row of weights.
  const auto some_gates = [=](int64_t gate, auto some) {
    constexpr int64_t n = decltype(some)::value;
    for (int64_t j = gate; j < gate + n; ++j) {
      Lanes<T> sums = {};
      for (int64_t column = 0; column < columns; ++column) sums += deltas[column * n_gates + j];
      grad_bias[j] = lanes::sum<T>(sums);
    }
    for (int64_t part = 0; part < parts; part += 2) {
      Lanes<T> left[n] = {}, right[n] = {};
      for (int64_t b = 0; b < s.batch; ++b) {
        const T* delta = reinterpret_cast<const T*>(deltas + b / n_lanes * n_gates + gate) + b % n_lanes;
        const Lanes<T> z0 = z[b * parts + part], z1 = z[b * parts + part + 1];
#pragma GCC unroll 16
        for (int64_t j = 0; j < n; ++j) {
          left[j] += delta[j * n_lanes] * z0;
          right[j] += delta[j * n_lanes] * z1;
        }
      }
      T* row = grad_weights.data() + gate * s.width + part * n_lanes;
      const int64_t rest = s.width - part * n_lanes;
      for (int64_t j = 0; j < n; ++j, row += s.width) {
        lanes::store(row, left[j], rest);
        if (rest > n_lanes) lanes::store(row + n_lanes, right[j], rest - n_lanes);
      }
    }
  };

  // Both products run in one loop, so that threads synchronise once.
  const int64_t of_inputs = blocks_of<16>(s.width), pieces = of_inputs + blocks_of<48>(n_gates);
  ob::parallel_for(
      pieces,
      [=](int64_t piece) {
        if (piece < of_inputs)
          in_blocks<16>(piece * 16, std::min(piece * 16 + 16, s.width), some_inputs);
        else
          in_blocks<12>((piece - of_inputs) * 48, std::min((piece - of_inputs) * 48 + 48, n_gates), some_gates);
      },
      grain(pieces, 2 * columns * n_lanes * n_gates * s.width));
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t first = column * n_lanes, rows = std::min(s.batch - first, n_lanes);
    from_lanes(d_z + column * s.width, s.state, rows, grad_h.data() + first * s.state);
    from_lanes(d_z + column * s.width + s.state, s.inputs, rows, grad_x.data() + first * s.inputs);
  }
}
OB_KERNEL(lltm_backward, float, double)
