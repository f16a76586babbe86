// Element types, formats and shapes, as the hosts of operators name them.
#ifndef OPBRIDGE_ASCEND_HOST_GRAPH_H
#define OPBRIDGE_ASCEND_HOST_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// More than is needed here: hosts lean on what these headers have always brought.
#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace ge {

// Code, name, bytes, and what a kernel calls it.
#define OPBRIDGE_ASCEND_DTYPES(X) \
  X(FLOAT, 0, 4, float)           \
  X(FLOAT16, 1, 2, half)          \
  X(INT8, 2, 1, int8_t)           \
  X(INT32, 3, 4, int32_t)         \
  X(UINT8, 4, 1, uint8_t)         \
  X(INT16, 6, 2, int16_t)         \
  X(UINT16, 7, 2, uint16_t)       \
  X(UINT32, 8, 4, uint32_t)       \
  X(INT64, 9, 8, int64_t)         \
  X(UINT64, 10, 8, uint64_t)      \
  X(DOUBLE, 11, 8, double)        \
  X(BOOL, 12, 1, bool)            \
  X(BF16, 27, 2, bfloat16_t)

// The numbers are aclDataType's, so that either is cast to the other.
enum DataType : int32_t {
#define OPBRIDGE_ASCEND_DTYPE(name, code, bytes, type) DT_##name = code,
  OPBRIDGE_ASCEND_DTYPES(OPBRIDGE_ASCEND_DTYPE)
#undef OPBRIDGE_ASCEND_DTYPE
      DT_UNDEFINED = 28,
  DT_INT4 = 29,
};
inline int GetSizeByDataType(DataType type) {
  switch (type) {
#define OPBRIDGE_ASCEND_DTYPE(name, code, bytes, type) \
  case DT_##name:                                      \
    return bytes;
    OPBRIDGE_ASCEND_DTYPES(OPBRIDGE_ASCEND_DTYPE)
#undef OPBRIDGE_ASCEND_DTYPE
    default:
      return -1;
  }
}

enum Format : int32_t {
  FORMAT_NCHW = 0,
  FORMAT_NHWC,
  FORMAT_ND,
  FORMAT_NC1HWC0,
  FORMAT_FRACTAL_Z,
  FORMAT_HWCN = 16,
  FORMAT_NCDHW = 30,
  FORMAT_NDHWC = 27,
  FORMAT_FRACTAL_NZ = 29,
};
inline Format GetPrimaryFormat(int32_t format) { return static_cast<Format>(format & 0xff); }

using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xffffffff, GRAPH_PARAM_INVALID = 50331649;

class AscendString {
 public:
  AscendString() = default;
  AscendString(const char* text) : text_(text != nullptr ? text : "") {}
  const char* GetString() const { return text_.c_str(); }
  size_t GetLength() const { return text_.size(); }

 private:
  std::string text_;
};

}  // namespace ge

namespace gert {

// Up to 25 sizes.
class Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;
  static constexpr int64_t kInvalidDimValue = INT64_MIN;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) {
    for (const int64_t size : sizes) AppendDim(size);
  }
  bool operator==(const Shape& other) const {
    return count_ == other.count_ && memcmp(sizes_, other.sizes_, count_ * sizeof(int64_t)) == 0;
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }

  size_t GetDimNum() const { return count_; }
  void SetDimNum(size_t count) { count_ = count < kMaxDimNum ? count : kMaxDimNum; }
  int64_t GetDim(size_t i) const { return i < count_ ? sizes_[i] : kInvalidDimValue; }
  int64_t operator[](size_t i) const { return GetDim(i); }
  int64_t& operator[](size_t i) { return sizes_[i]; }
  void SetDim(size_t i, int64_t size) {
    if (i < kMaxDimNum) sizes_[i] = size;
  }
  Shape& AppendDim(int64_t size) {
    if (count_ < kMaxDimNum) sizes_[count_++] = size;
    return *this;
  }
  void SetScalar() { count_ = 0; }
  bool IsScalar() const { return count_ == 0; }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < count_; ++i) size *= sizes_[i];
    return size;
  }

 private:
  int64_t sizes_[kMaxDimNum] = {};
  size_t count_ = 0;
};

// The same shape twice, for the formats that a host here knows.
class StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const Shape& shape) : origin_(shape), storage_(shape) {}
  const Shape& GetOriginShape() const { return origin_; }
  const Shape& GetStorageShape() const { return storage_; }
  Shape& MutableOriginShape() { return origin_; }
  Shape& MutableStorageShape() { return storage_; }

 private:
  Shape origin_, storage_;
};

}  // namespace gert

namespace ge {

// As tiling functions of the high-level interface take it.
class Shape : public gert::Shape {
 public:
  Shape() = default;
  Shape(const gert::Shape& shape) : gert::Shape(shape) {}
  explicit Shape(const std::vector<int64_t>& sizes) {
    for (const int64_t size : sizes) AppendDim(size);
  }
};

}  // namespace ge
#endif
