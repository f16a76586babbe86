// Long steps of the generators in opbridge_twin/random.h: their recurrences are linear, so that 2^k steps are a matrix.
#include <opbridge_twin/random.h>

#include <array>
#include <deque>
#include <mutex>
#include <utility>

namespace opbridge_twin {

namespace {

// A matrix of bits: the image of each bit of the five words.
struct BitMatrix {
  using Vector = std::array<unsigned, 5>;
  std::array<Vector, 160> columns;

  Vector operator*(const Vector& v) const {
    Vector made{};
    for (unsigned bit = 0; bit < 160; ++bit) {
      if ((v[bit / 32] >> bit % 32 & 1) == 0) continue;
      for (unsigned i = 0; i < 5; ++i) made[i] ^= columns[bit][i];
    }
    return made;
  }
  BitMatrix squared() const {
    BitMatrix made;
    for (unsigned bit = 0; bit < 160; ++bit) made.columns[bit] = *this * columns[bit];
    return made;
  }
  static BitMatrix one_step() {
    BitMatrix made;
    for (unsigned bit = 0; bit < 160; ++bit) {
      curandStateXORWOW state{};
      state.v[bit / 32] = 1u << bit % 32;
      curand(&state);
      for (unsigned i = 0; i < 5; ++i) made.columns[bit][i] = state.v[i];
    }
    return made;
  }
};

// A 3 x 3 matrix of numbers below a modulus.
template <uint64_t modulus>
struct ModularMatrix {
  using Vector = std::array<unsigned, 3>;
  std::array<std::array<uint64_t, 3>, 3> rows;

  uint64_t entry(unsigned row, const std::array<uint64_t, 3>& column) const {
    uint64_t sum = 0;
    for (unsigned i = 0; i < 3; ++i) sum = (sum + rows[row][i] * column[i] % modulus) % modulus;
    return sum;
  }
  Vector operator*(const Vector& v) const {
    Vector made;
    for (unsigned row = 0; row < 3; ++row) made[row] = static_cast<unsigned>(entry(row, {v[0], v[1], v[2]}));
    return made;
  }
  ModularMatrix squared() const {
    ModularMatrix made;
    for (unsigned row = 0; row < 3; ++row) {
      for (unsigned column = 0; column < 3; ++column) {
        made.rows[row][column] = entry(row, {rows[0][column], rows[1][column], rows[2][column]});
      }
    }
    return made;
  }
};

// The matrix of 2^k steps for each k, made when it is first asked for.
template <class Matrix>
class Powers {
 public:
  explicit Powers(const Matrix& one_step) : of_two_{one_step} {}

  void step(typename Matrix::Vector& v, unsigned long long n, int power) {
    for (; n != 0; n >>= 1, ++power) {
      if (n & 1) v = of_two_to(power) * v;
    }
  }

 private:
  const Matrix& of_two_to(int power) {
    const std::lock_guard<std::mutex> hold(guard_);
    while (of_two_.size() <= static_cast<size_t>(power)) of_two_.push_back(of_two_.back().squared());
    return of_two_[static_cast<size_t>(power)];
  }

  std::mutex guard_;
  std::deque<Matrix> of_two_;  // whose elements stay where they are
};

template <class Matrix>
void skip_words(Powers<Matrix>& powers, unsigned* words, unsigned long long n, int power) {
  typename Matrix::Vector v;
  for (size_t i = 0; i < v.size(); ++i) v[i] = words[i];
  powers.step(v, n, power);
  for (size_t i = 0; i < v.size(); ++i) words[i] = v[i];
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

void ob_twin_skip_xorwow(unsigned* v, unsigned long long n, int power) {
  static auto& powers = *new Powers<BitMatrix>(BitMatrix::one_step());
  skip_words(powers, v, n, power);
}

void ob_twin_skip_mrg(unsigned* s1, unsigned* s2, unsigned long long n, int power) {
  using First = ModularMatrix<kMrg1>;
  using Second = ModularMatrix<kMrg2>;
  static auto& first = *new Powers<First>(First{{{{0, 1, 0}, {0, 0, 1}, {kMrg1 - 810728, 1403580, 0}}}});
  static auto& second = *new Powers<Second>(Second{{{{0, 1, 0}, {0, 0, 1}, {kMrg2 - 1370589, 0, 527612}}}});
  skip_words(first, s1, n, power);
  skip_words(second, s2, n, power);
}
