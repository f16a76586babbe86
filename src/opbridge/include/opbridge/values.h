// The types of a kernel's attributes besides plain C++ scalars: views into the caller's memory, valid during the call.
#ifndef OPBRIDGE_VALUES_H
#define OPBRIDGE_VALUES_H

#include <opbridge/dtype.h>
#include <string.h>

namespace ob {

// A run of values in the caller's memory; cheap to copy.
template <class T>
class Array {
 public:
  using value_type = T;

  constexpr Array() = default;
  constexpr Array(const T* data, int64_t size) : data_(data), size_(size) {}

  // Not constexpr, because device code could then call it: the items are in host memory.
  const T* data() const { return data_; }
  const T& operator[](int64_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  constexpr int64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }

 private:
  const T* data_ = nullptr;
  int64_t size_ = 0;
};

template <class T>
bool operator==(Array<T> a, Array<T> b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}

template <class T>
bool operator!=(Array<T> a, Array<T> b) {
  return !(a == b);
}

using Ints = Array<int64_t>;
using Floats = Array<double>;
using Bools = Array<uint8_t>;  // one byte each, 0 or 1
using Shape = Array<int64_t>;

// A list of tensors: `ob::List<ob::In<T>>`.
template <class Item>
class List : public Array<Item> {
 public:
  using Array<Item>::Array;
};

// Text in the caller's memory, followed by a zero that `size` does not count.
class String {
 public:
  constexpr String() = default;
  constexpr String(const char* data, int64_t size) : data_(data), size_(size) {}

  const char* data() const { return data_; }  // zero-terminated
  constexpr int64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }

  friend bool operator==(String a, String b) {
    return a.size_ == b.size_ && memcmp(a.data_, b.data_, static_cast<size_t>(a.size_)) == 0;
  }
  friend bool operator!=(String a, String b) { return !(a == b); }
  friend bool operator==(String a, const char* b) { return a == String(b, static_cast<int64_t>(strlen(b))); }
  friend bool operator!=(String a, const char* b) { return !(a == b); }

 private:
  const char* data_ = "";
  int64_t size_ = 0;
};

// A number that remembers whether it was an int (or bool) or a float.
class Scalar {
 public:
  constexpr Scalar(int64_t value) : integral_(true), i_(value) {}
  constexpr Scalar(double value) : integral_(false), d_(value) {}

  OB_HOST_DEVICE constexpr bool is_integral() const { return integral_; }

  template <class T>
  OB_HOST_DEVICE constexpr T to() const {
    return integral_ ? static_cast<T>(i_) : static_cast<T>(d_);
  }

 private:
  bool integral_;
  union {
    int64_t i_;
    double d_;
  };
};

// An argument that the caller may omit.
template <class T>
class Optional {
 public:
  constexpr Optional() : nothing_() {}
  constexpr Optional(T value) : present_(true), value_(value) {}

  OB_HOST_DEVICE constexpr explicit operator bool() const { return present_; }
  OB_HOST_DEVICE constexpr const T& operator*() const { return value_; }
  OB_HOST_DEVICE constexpr const T* operator->() const { return &value_; }
  OB_HOST_DEVICE constexpr T value_or(T otherwise) const { return present_ ? value_ : otherwise; }

 private:
  bool present_ = false;
  union {
    char nothing_;
    T value_;
  };
};

}  // namespace ob
#endif
