// The input and output of an operator's host functions.
#ifndef OPBRIDGE_ASCEND_HOST_CONTEXT_H
#define OPBRIDGE_ASCEND_HOST_CONTEXT_H

#include <stdlib.h>

#include <memory>

#include "graph.h"
#include "platform.h"

namespace gert {

// A list of numbers, which hosts read by its data and size.
template <class T>
class TypedContinuousVector {
 public:
  TypedContinuousVector() = default;
  explicit TypedContinuousVector(std::vector<T> values) : values_(std::move(values)) {}
  size_t GetSize() const { return values_.size(); }
  const T* GetData() const { return values_.data(); }

 private:
  std::vector<T> values_;
};
using ContinuousVector = TypedContinuousVector<int64_t>;

// Refers to values of the planner of the call, which outlive it.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const gert::Shape& shape, ge::DataType type, const void* data) : shape_(shape), type_(type), data_(data) {}
  const Shape& GetStorageShape() const { return shape_.GetStorageShape(); }
  const Shape& GetOriginShape() const { return shape_.GetOriginShape(); }
  const StorageShape& GetShape() const { return shape_; }
  ge::DataType GetDataType() const { return type_; }
  int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }
  size_t GetSize() const { return static_cast<size_t>(GetShapeSize() * ge::GetSizeByDataType(type_)); }
  ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }
  ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }
  // Null where the values are on the device only.
  template <class T>
  const T* GetData() const {
    return static_cast<const T*>(data_);
  }

 private:
  StorageShape shape_;
  ge::DataType type_ = ge::DT_UNDEFINED;
  const void* data_ = nullptr;
};

class CompileTimeTensorDesc {
 public:
  explicit CompileTimeTensorDesc(ge::DataType type = ge::DT_UNDEFINED) : type_(type) {}
  ge::DataType GetDataType() const { return type_; }
  ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }
  ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }

 private:
  ge::DataType type_;
};

// Values of attributes, in the order of the operator's definition.
class RuntimeAttrs {
 public:
  size_t GetAttrNum() const { return values_.size(); }
  template <class T>
  const T* GetAttrPointer(size_t i) const {
    return i < values_.size() ? static_cast<const T*>(values_[i].get()) : nullptr;
  }
  const int64_t* GetInt(size_t i) const { return GetAttrPointer<int64_t>(i); }
  const float* GetFloat(size_t i) const { return GetAttrPointer<float>(i); }
  const bool* GetBool(size_t i) const { return GetAttrPointer<bool>(i); }
  const char* GetStr(size_t i) const { return GetAttrPointer<char>(i); }
  const TypedContinuousVector<int64_t>* GetListInt(size_t i) const {
    return GetAttrPointer<TypedContinuousVector<int64_t>>(i);
  }
  const TypedContinuousVector<float>* GetListFloat(size_t i) const {
    return GetAttrPointer<TypedContinuousVector<float>>(i);
  }

  template <class T>
  void add(T value) {
    values_.push_back(std::make_shared<T>(std::move(value)));
  }
  void add_text(const char* text) { values_.push_back(std::shared_ptr<void>(strdup(text), free)); }

 private:
  std::vector<std::shared_ptr<void>> values_;
};

// Where a tiling struct goes.
class TilingData {
 public:
  void* GetData() { return bytes_; }
  const void* GetData() const { return bytes_; }
  size_t GetCapacity() const { return sizeof bytes_; }
  size_t GetDataSize() const { return size_; }
  void SetDataSize(size_t size) { size_ = size; }
  template <class T>
  void Append(const T& value) {
    if (size_ + sizeof value > sizeof bytes_) return;
    memcpy(bytes_ + size_, &value, sizeof value);
    size_ += sizeof value;
  }

 private:
  alignas(64) uint8_t bytes_[1 << 16] = {};
  size_t size_ = 0;
};

// A call: what all host functions may ask.  An input that is left out is null at its place.
class CallContext {
 public:
  const char* GetNodeName() const { return name.c_str(); }
  const char* GetNodeType() const { return name.c_str(); }
  size_t GetComputeNodeInputNum() const { return inputs.size(); }
  size_t GetComputeNodeOutputNum() const { return outputs.size(); }
  const RuntimeAttrs* GetAttrs() const { return &attributes; }

  const Tensor* GetInputTensor(size_t i) const { return i < inputs.size() ? inputs[i].get() : nullptr; }
  const Tensor* GetRequiredInputTensor(size_t i) const { return GetInputTensor(i); }
  const Tensor* GetOptionalInputTensor(size_t i) const { return GetInputTensor(i); }
  const CompileTimeTensorDesc* GetInputDesc(size_t i) const { return desc_of(GetInputTensor(i), input_descs, i); }
  const CompileTimeTensorDesc* GetRequiredInputDesc(size_t i) const { return GetInputDesc(i); }
  const CompileTimeTensorDesc* GetOptionalInputDesc(size_t i) const { return GetInputDesc(i); }
  const CompileTimeTensorDesc* GetOutputDesc(size_t i) const {
    return i < outputs.size() ? desc_of(&outputs[i], output_descs, i) : nullptr;
  }
  ge::DataType GetInputDataType(size_t i) const {
    const Tensor* const input = GetInputTensor(i);
    return input != nullptr ? input->GetDataType() : ge::DT_UNDEFINED;
  }
  ge::DataType GetRequiredInputDataType(size_t i) const { return GetInputDataType(i); }
  ge::DataType GetOptionalInputDataType(size_t i) const { return GetInputDataType(i); }

  std::string name;
  std::vector<std::unique_ptr<Tensor>> inputs;
  std::vector<Tensor> outputs;
  RuntimeAttrs attributes;

 private:
  using Descs = std::vector<std::unique_ptr<CompileTimeTensorDesc>>;
  const CompileTimeTensorDesc* desc_of(const Tensor* tensor, Descs& descs, size_t i) const {
    if (tensor == nullptr) return nullptr;
    if (descs.size() <= i) descs.resize(i + 1);
    descs[i] = std::make_unique<CompileTimeTensorDesc>(tensor->GetDataType());
    return descs[i].get();
  }
  mutable Descs input_descs, output_descs;
};

// What a tiling function is given, and where it leaves its plan; the launch reads the members.
class TilingContext : public CallContext {
 public:
  const StorageShape* GetInputShape(size_t i) const {
    const Tensor* const input = GetInputTensor(i);
    return input != nullptr ? &input->GetShape() : nullptr;
  }
  const StorageShape* GetRequiredInputShape(size_t i) const { return GetInputShape(i); }
  const StorageShape* GetOptionalInputShape(size_t i) const { return GetInputShape(i); }
  const StorageShape* GetOutputShape(size_t i) const { return i < outputs.size() ? &outputs[i].GetShape() : nullptr; }

  TilingData* GetRawTilingData() { return &tiling; }
  template <class T>
  T* GetTilingData() {
    tiling.SetDataSize(sizeof(T));
    return static_cast<T*>(tiling.GetData());
  }
  size_t* GetWorkspaceSizes(size_t count) {
    if (workspaces.size() < count) workspaces.resize(count);
    return workspaces.data();
  }
  fe::PlatFormInfos* GetPlatformInfo() const { return &platform; }
  const void* GetCompileInfo() const { return nullptr; }
  ge::graphStatus SetBlockDim(uint32_t count) {
    block_dim = count;
    return ge::GRAPH_SUCCESS;
  }
  uint32_t GetBlockDim() const { return block_dim; }
  ge::graphStatus SetTilingKey(uint64_t key) {
    tiling_key = key;
    return ge::GRAPH_SUCCESS;
  }
  uint64_t GetTilingKey() const { return tiling_key; }
  ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
  ge::graphStatus SetScheduleMode(uint32_t) { return ge::GRAPH_SUCCESS; }
  ge::graphStatus SetLocalMemorySize(uint32_t) { return ge::GRAPH_SUCCESS; }

  TilingData tiling;
  std::vector<size_t> workspaces;
  mutable fe::PlatFormInfos platform;
  uint32_t block_dim = 1;
  uint64_t tiling_key = 0;
};
using TilingParseContext = TilingContext;

// The shapes of outputs are there before the function runs, for it to write into.
class InferShapeContext : public CallContext {
 public:
  const Shape* GetInputShape(size_t i) const {
    const Tensor* const input = GetInputTensor(i);
    return input != nullptr ? &input->GetStorageShape() : nullptr;
  }
  const Shape* GetRequiredInputShape(size_t i) const { return GetInputShape(i); }
  const Shape* GetOptionalInputShape(size_t i) const { return GetInputShape(i); }
  Shape* GetOutputShape(size_t i) { return i < shapes.size() ? &shapes[i] : nullptr; }

  std::vector<Shape> shapes;
};

// As many types as outputs, undefined until the function sets them.
class InferDataTypeContext : public CallContext {
 public:
  ge::DataType GetOutputDataType(size_t i) const { return i < types.size() ? types[i] : ge::DT_UNDEFINED; }
  ge::graphStatus SetOutputDataType(size_t i, ge::DataType type) {
    if (i >= types.size()) return ge::GRAPH_FAILED;
    types[i] = type;
    return ge::GRAPH_SUCCESS;
  }

  std::vector<ge::DataType> types;
};
class InferShapeRangeContext;

}  // namespace gert
#endif
