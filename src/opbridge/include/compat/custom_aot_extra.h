// The attribute block of MindSpore's custom operators, `AotExtra`, for kernels that read attributes, request workspace
// or keep state: <F>, and in addition any of
//
//   extern "C" int <F>Init(int* ndims, int64_t** shapes, const char** dtypes, AotExtra* extra);
//   extern "C" std::vector<int64_t> <F>InferShape(int* ndims, int64_t** shapes, AotExtra* extra);
//   extern "C" TypeId <F>InferType(std::vector<TypeId> types, AotExtra* extra);
//
// (for several outputs: a std::vector<std::vector<int64_t>> and a std::vector<TypeId>).  A kernel with this header runs
// under MindSpore and under opbridge, and needs the source tree of neither.  MindSpore's wheels are built with
// -D_GLIBCXX_USE_CXX11_ABI=0.  A library for MindSpore that names an attribute needs it, too; opbridge accepts both.
#ifndef OPBRIDGE_COMPAT_CUSTOM_AOT_EXTRA_H
#define OPBRIDGE_COMPAT_CUSTOM_AOT_EXTRA_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

// The base class of the state that a kernel keeps from its Init to its calls.
class AotKernelData {
 public:
  AotKernelData() = default;
  virtual ~AotKernelData() = default;
};

// The host derives from it; the order of the virtual functions and of the members is the interface.
class AotExtra {
 public:
  AotExtra() = default;
  virtual ~AotExtra() = default;

  virtual bool HasAttr(std::string name) = 0;

  // T: bool, int64_t, float, std::string, a vector of int64_t or float, or a vector of such vectors.
  template <typename T>
  T Attr(std::string name) = delete;

  // Bytes of each buffer that follows the outputs in `params`; for Init to say.
  void SetWorkSpace(const std::vector<size_t>& sizes) { workspace_ = sizes; }
  const std::vector<size_t>& WorkSpace() const { return workspace_; }

  // The block owns it from then on.
  void SetKernelData(AotKernelData* data) { kernel_data_ = data; }
  AotKernelData* KernelData() const { return kernel_data_; }

  void DestructKernelData() {
    delete kernel_data_;
    kernel_data_ = nullptr;
  }

 private:
  virtual bool GetAttrBool(std::string name) = 0;
  virtual int64_t GetAttrInt(std::string name) = 0;
  virtual float GetAttrFloat(std::string name) = 0;
  virtual std::string GetAttrStr(std::string name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(std::string name) = 0;
  virtual std::vector<float> GetAttrFloatVec(std::string name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::string name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(std::string name) = 0;

  std::vector<size_t> workspace_;
  AotKernelData* kernel_data_ = nullptr;
};

template <>
inline bool AotExtra::Attr<bool>(std::string name) {
  return GetAttrBool(name);
}

template <>
inline int64_t AotExtra::Attr<int64_t>(std::string name) {
  return GetAttrInt(name);
}

template <>
inline float AotExtra::Attr<float>(std::string name) {
  return GetAttrFloat(name);
}

template <>
inline std::string AotExtra::Attr<std::string>(std::string name) {
  return GetAttrStr(name);
}

template <>
inline std::vector<int64_t> AotExtra::Attr<std::vector<int64_t>>(std::string name) {
  return GetAttrIntVec(name);
}

template <>
inline std::vector<float> AotExtra::Attr<std::vector<float>>(std::string name) {
  return GetAttrFloatVec(name);
}

template <>
inline std::vector<std::vector<int64_t>> AotExtra::Attr<std::vector<std::vector<int64_t>>>(std::string name) {
  return GetAttrInt2DVec(name);
}

template <>
inline std::vector<std::vector<float>> AotExtra::Attr<std::vector<std::vector<float>>>(std::string name) {
  return GetAttrFloat2DVec(name);
}

#endif
