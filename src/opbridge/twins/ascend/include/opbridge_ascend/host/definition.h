// An operator's definition, as msopgen's projects write it: read by running its constructor.
#ifndef OPBRIDGE_ASCEND_HOST_DEFINITION_H
#define OPBRIDGE_ASCEND_HOST_DEFINITION_H

#include <stdio.h>

#include <deque>
#include <type_traits>

#include "context.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class ItemFindStatus { ITEM_FIND = 0, ITEM_NOEXIST };

// An input or output as it is declared: each call of the chain says one more thing of it.
class OpParamDef {
 public:
  explicit OpParamDef(const char* of_name) : name(of_name) {}
  OpParamDef& ParamType(Option type) {
    option = type;
    return *this;
  }
  OpParamDef& DataType(std::vector<ge::DataType> of_each) {
    types = std::move(of_each);
    return *this;
  }
  OpParamDef& DataTypeList(std::vector<ge::DataType> of_each) {
    types = std::move(of_each);
    is_list = true;
    return *this;
  }
  OpParamDef& Format(std::vector<ge::Format>) { return *this; }
  OpParamDef& FormatList(std::vector<ge::Format>) { return *this; }
  OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
  OpParamDef& DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }
  OpParamDef& FormatForBinQuery(std::vector<ge::Format>) { return *this; }
  OpParamDef& ValueDepend(Option) {
    value_depends = true;
    return *this;
  }
  OpParamDef& ValueDepend(Option, int) { return ValueDepend(REQUIRED); }
  OpParamDef& IgnoreContiguous() { return *this; }
  OpParamDef& AutoContiguous() { return *this; }
  OpParamDef& Scalar() { return *this; }
  OpParamDef& ScalarList() { return *this; }
  OpParamDef& InitValue(uint64_t) { return *this; }
  OpParamDef& OutputShapeDependOnCompute() { return *this; }
  OpParamDef& Follow(const char* other) {
    follows = other;
    return *this;
  }
  template <class Kind>
  OpParamDef& Follow(const char* other, Kind) {
    return Follow(other);
  }
  OpParamDef& To(ge::DataType) { return *this; }

  std::string name, follows;
  Option option = REQUIRED;
  std::vector<ge::DataType> types;
  bool is_list = false, value_depends = false;
};

// An attribute as it is declared: of one type, with a default where it is optional.
class OpAttrDef {
 public:
  explicit OpAttrDef(const char* of_name) : name(of_name) {}
  OpAttrDef& AttrType(Option type) {
    option = type;
    return *this;
  }
  OpAttrDef& Bool() { return of("bool"); }
  OpAttrDef& Bool(bool value) { return of("bool", value ? "true" : "false"); }
  OpAttrDef& Int() { return of("int"); }
  OpAttrDef& Int(int64_t value) { return of("int", std::to_string(value)); }
  OpAttrDef& Float() { return of("float"); }
  OpAttrDef& Float(float value) { return of("float", spelled(value)); }
  OpAttrDef& String() { return of("str"); }
  OpAttrDef& String(const char* value) { return of("str", value); }
  OpAttrDef& ListInt() { return of("int[]"); }
  OpAttrDef& ListInt(const std::vector<int64_t>& values) { return of("int[]", joined(values)); }
  OpAttrDef& ListFloat() { return of("float[]"); }
  OpAttrDef& ListFloat(const std::vector<float>& values) { return of("float[]", joined(values)); }
  OpAttrDef& ListBool() { return of("bool[]"); }
  OpAttrDef& ListBool(const std::vector<bool>& values) { return of("bool[]", joined(values)); }
  OpAttrDef& Version(uint32_t) { return *this; }

  std::string name, type, value;
  Option option = REQUIRED;
  bool has_default = false;

 private:
  OpAttrDef& of(const char* kind) {
    type = kind;
    return *this;
  }
  OpAttrDef& of(const char* kind, std::string given) {
    value = std::move(given);
    has_default = true;
    return of(kind);
  }
  template <class T>
  static std::string spelled(T value) {
    if constexpr (std::is_floating_point<T>::value) {
      char text[32];
      snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
      return text;
    } else {
      return std::to_string(value);
    }
  }
  template <class List>
  static std::string joined(const List& values) {
    std::string text;
    for (const auto value : values) text += (text.empty() ? "" : ", ") + spelled(value);
    return text;
  }
};

// What a chip wants different; the definition for all is the one that counts here.
class OpAICoreConfig {
 public:
  OpAICoreConfig() = default;
  explicit OpAICoreConfig(const char*) {}
  OpParamDef& Input(const char* name) { return ignored(name); }
  OpParamDef& Output(const char* name) { return ignored(name); }
  OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
  OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
  OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
  OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
  OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
  OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
  OpAICoreConfig& ExtendCfgInfo(const char*, const char*) { return *this; }

 private:
  OpParamDef& ignored(const char* name) {
    ignored_.emplace_back(name);
    return ignored_.back();
  }
  std::deque<OpParamDef> ignored_;
};

using TilingFunction = ge::graphStatus (*)(gert::TilingContext*);
using InferShapeFunction = ge::graphStatus (*)(gert::InferShapeContext*);
using InferDataTypeFunction = ge::graphStatus (*)(gert::InferDataTypeContext*);

// How the operator runs: host functions, of which the tiling is required.
class OpAICoreDef {
 public:
  OpAICoreDef& SetTiling(TilingFunction function) {
    tiling = function;
    return *this;
  }
  template <class Function>
  OpAICoreDef& SetCheckSupport(Function) {
    return *this;
  }
  template <class Function>
  OpAICoreDef& SetOpSelectFormat(Function) {
    return *this;
  }
  OpAICoreDef& AddConfig(const char* chip) {
    chips.emplace_back(chip);
    return *this;
  }
  OpAICoreDef& AddConfig(const char* chip, const OpAICoreConfig&) { return AddConfig(chip); }

  TilingFunction tiling = nullptr;
  std::vector<std::string> chips;
};

// References to parameters stay good while others are added.
class OpDef {
 public:
  explicit OpDef(const char* of_type) : type(of_type) {}
  virtual ~OpDef() = default;

  OpParamDef& Input(const char* name) { return named(inputs, name); }
  OpParamDef& Output(const char* name) { return named(outputs, name); }
  OpAttrDef& Attr(const char* name) { return named(attributes, name); }
  OpDef& SetInferShape(InferShapeFunction function) {
    infer_shape = function;
    return *this;
  }
  OpDef& SetInferDataType(InferDataTypeFunction function) {
    infer_type = function;
    return *this;
  }
  template <class Function>
  OpDef& SetInferShapeRange(Function) {
    return *this;
  }
  template <class Function>
  OpDef& SetInferFormat(Function) {
    return *this;
  }
  OpDef& Comment(const char*) { return *this; }
  template <class Kind>
  OpDef& Comment(Kind, const char*) {
    return *this;
  }
  template <class Kind>
  OpDef& FormatMatchMode(Kind) {
    return *this;
  }
  OpAICoreDef& AICore() { return ai_core; }

  std::string type;
  std::deque<OpParamDef> inputs, outputs;
  std::deque<OpAttrDef> attributes;
  InferShapeFunction infer_shape = nullptr;
  InferDataTypeFunction infer_type = nullptr;
  OpAICoreDef ai_core;

 private:
  template <class Item>
  static Item& named(std::deque<Item>& items, const char* name) {
    for (Item& item : items) {
      if (item.name == name) return item;
    }
    items.emplace_back(name);
    return items.back();
  }
};

}  // namespace ops

namespace opbridge_ascend {

// The definitions of a library, in the order in which they stand.
struct Definitions {
  std::vector<std::unique_ptr<ops::OpDef>> all;

  static Definitions& get() {
    static Definitions* const definitions = new Definitions;
    return *definitions;
  }
  bool add(std::unique_ptr<ops::OpDef> one) {
    all.push_back(std::move(one));
    return true;
  }
  ops::OpDef* find(const std::string& type) {
    for (const auto& one : all) {
      if (one->type == type) return one.get();
    }
    return nullptr;
  }
};

// Host functions that are registered separately from a definition.
class Implementation {
 public:
  explicit Implementation(const char* type) : type_(type) {}
  Implementation& Tiling(ops::TilingFunction function) {
    tilings().push_back({type_, function});
    return *this;
  }
  Implementation& InferShape(ops::InferShapeFunction function) {
    shapes().push_back({type_, function});
    return *this;
  }
  Implementation& InferDataType(ops::InferDataTypeFunction function) {
    types().push_back({type_, function});
    return *this;
  }
  Implementation& InputsDataDependency(std::initializer_list<int32_t>) { return *this; }
  template <class Info>
  Implementation& TilingParse(ge::graphStatus (*)(gert::TilingParseContext*)) {
    return *this;
  }

  template <class Function>
  using ByType = std::vector<std::pair<std::string, Function>>;
  static ByType<ops::TilingFunction>& tilings() { return kept<ops::TilingFunction>(); }
  static ByType<ops::InferShapeFunction>& shapes() { return kept<ops::InferShapeFunction>(); }
  static ByType<ops::InferDataTypeFunction>& types() { return kept<ops::InferDataTypeFunction>(); }
  template <class Function>
  static Function find(const ByType<Function>& all, const std::string& type, Function otherwise) {
    for (const auto& [name, function] : all) {
      if (name == type) return function;
    }
    return otherwise;
  }

 private:
  template <class Function>
  static ByType<Function>& kept() {
    static auto* const all = new ByType<Function>;
    return *all;
  }
  std::string type_;
};

}  // namespace opbridge_ascend

#define OP_ADD(Type, ...)                                  \
  [[maybe_unused]] static const bool opbridge_has_##Type = \
      ::opbridge_ascend::Definitions::get().add(std::make_unique<Type>(#Type))
#define IMPL_OP_OPTILING(Type) \
  [[maybe_unused]] static const auto opbridge_tiles_##Type = ::opbridge_ascend::Implementation(#Type)
#define IMPL_OP_INFERSHAPE(Type) \
  [[maybe_unused]] static const auto opbridge_infers_##Type = ::opbridge_ascend::Implementation(#Type)
#define IMPL_OP(Type) \
  [[maybe_unused]] static const auto opbridge_implements_##Type = ::opbridge_ascend::Implementation(#Type)

#endif
