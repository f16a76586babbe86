#include <opbridge_ascend/host/definition.h>
#include <opbridge_ascend/host/entry.h>
#include <opbridge_ascend/host/structs.h>

#include <algorithm>

namespace opbridge_ascend {
namespace {

enum Outcome { kDone = 0, kUnknown = 1, kNoFunction = 2, kRefused = 3 };

class Json {
 public:
  Json& key(const char* name) { return text(name).put(":"); }
  Json& text(const std::string& value) {
    separate();
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  Json& raw(const std::string& value) {
    separate();
    text_ += value;
    return *this;
  }
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    return *this;
  }
  const std::string& whole() const { return text_; }

 private:
  Json& put(const char* mark) {
    text_ += mark;
    return *this;
  }
  void separate() {
    if (!text_.empty() && strchr("[{:", text_.back()) == nullptr) text_ += ',';
  }
  std::string text_;
};

void parameters(Json& json, const char* name, const std::deque<ops::OpParamDef>& all) {
  json.key(name).open('[');
  for (const ops::OpParamDef& one : all) {
    json.open('{').key("name").text(one.name).key("option").raw(std::to_string(one.option));
    json.key("follows").text(one.follows).key("value_depends").raw(one.value_depends ? "true" : "false");
    json.key("types").open('[');
    for (const ge::DataType type : one.types) json.raw(std::to_string(type));
    json.close(']').close('}');
  }
  json.close(']');
}

void definition(Json& json, const ops::OpDef& one) {
  json.open('{').key("type").text(one.type);
  parameters(json, "inputs", one.inputs);
  parameters(json, "outputs", one.outputs);
  json.key("attributes").open('[');
  for (const ops::OpAttrDef& attribute : one.attributes) {
    json.open('{').key("name").text(attribute.name).key("type").text(attribute.type);
    json.key("required").raw(attribute.option == ops::REQUIRED ? "true" : "false");
    json.key("default");
    if (attribute.has_default) {
      json.text(attribute.value).close('}');
    } else {
      json.raw("null").close('}');
    }
  }
  json.close(']').key("chips").open('[');
  for (const std::string& chip : one.ai_core.chips) json.text(chip);
  json.close(']').close('}');
}

std::string described() {
  Json json;
  json.open('{').key("operators").open('[');
  for (const auto& one : Definitions::get().all) definition(json, *one);
  json.close(']').key("structs").open('[');
  for (const Structs::Struct& one : Structs::get().all) {
    json.open('{').key("name").text(one.name).key("fields").open('[');
    for (const auto& [type, name, length] : one.fields) {
      json.open('[').text(type).text(name).raw(std::to_string(length)).close(']');
    }
    json.close(']').close('}');
  }
  json.close(']').key("tiling").open('[');
  for (const auto& [type, name] : Structs::get().of_operators) json.open('[').text(type).text(name).close(']');
  json.close(']').close('}');
  return json.whole();
}

gert::Tensor tensor_of(const ob_ascend_tensor& one) {
  gert::Shape shape;
  for (int32_t i = 0; i < one.ndim; ++i) shape.AppendDim(one.shape[i]);
  return {shape, static_cast<ge::DataType>(one.dtype), one.data};
}

void add(gert::RuntimeAttrs& attributes, const ob_ascend_attribute& one) {
  const std::string type = one.type;
  if (type == "int") return attributes.add(one.integers[0]);
  if (type == "bool") return attributes.add(one.integers[0] != 0);
  if (type == "float") return attributes.add(static_cast<float>(one.reals[0]));
  if (type == "str") return attributes.add_text(one.text);
  if (type == "float[]") {
    return attributes.add(gert::TypedContinuousVector<float>(std::vector<float>(one.reals, one.reals + one.count)));
  }
  attributes.add(gert::TypedContinuousVector<int64_t>(std::vector<int64_t>(one.integers, one.integers + one.count)));
}

void fill(gert::CallContext& context, const ob_ascend_call& call) {
  context.name = call.type;
  for (int32_t i = 0; i < call.input_count; ++i) {
    const ob_ascend_tensor& one = call.inputs[i];
    context.inputs.push_back(one.ndim < 0 ? nullptr : std::make_unique<gert::Tensor>(tensor_of(one)));
  }
  for (int32_t i = 0; i < call.output_count; ++i) context.outputs.push_back(tensor_of(call.outputs[i]));
  for (int32_t i = 0; i < call.attribute_count; ++i) add(context.attributes, call.attributes[i]);
}

}  // namespace
}  // namespace opbridge_ascend

using namespace opbridge_ascend;

const char* ob_ascend_describe() {
  static const std::string* const text = new std::string(described());
  return text->c_str();
}

int ob_ascend_tile(const ob_ascend_call* call, ob_ascend_plan* plan) {
  const ops::OpDef* const definition = Definitions::get().find(call->type);
  if (definition == nullptr) return kUnknown;
  const auto function = Implementation::find(Implementation::tilings(), call->type, definition->ai_core.tiling);
  if (function == nullptr) return kNoFunction;
  const auto context = std::make_unique<gert::TilingContext>();
  fill(*context, *call);
  if (function(context.get()) != ge::GRAPH_SUCCESS) return kRefused;
  plan->key = context->tiling_key;
  plan->workspace = 0;
  for (const size_t bytes : context->workspaces) plan->workspace += bytes;
  plan->tiling_bytes = context->tiling.GetDataSize();
  plan->blocks = context->block_dim;
  memcpy(plan->tiling, context->tiling.GetData(), plan->tiling_bytes);
  return kDone;
}

int ob_ascend_infer(const ob_ascend_call* call, int64_t (*shapes)[25], int32_t* ndims, int32_t* dtypes) {
  const ops::OpDef* const definition = Definitions::get().find(call->type);
  if (definition == nullptr) return kUnknown;
  const auto of_shapes = Implementation::find(Implementation::shapes(), call->type, definition->infer_shape);
  if (of_shapes == nullptr) return kNoFunction;
  gert::InferShapeContext context;
  fill(context, *call);
  context.shapes.resize(definition->outputs.size());
  if (of_shapes(&context) != ge::GRAPH_SUCCESS) return kRefused;
  gert::InferDataTypeContext types;
  fill(types, *call);
  types.types.assign(definition->outputs.size(), ge::DT_UNDEFINED);
  const auto of_types = Implementation::find(Implementation::types(), call->type, definition->infer_type);
  if (of_types != nullptr && of_types(&types) != ge::GRAPH_SUCCESS) return kRefused;
  for (size_t i = 0; i < context.shapes.size(); ++i) {
    ndims[i] = static_cast<int32_t>(context.shapes[i].GetDimNum());
    for (int32_t k = 0; k < ndims[i]; ++k) shapes[i][k] = context.shapes[i][static_cast<size_t>(k)];
    dtypes[i] = types.types[i];
  }
  return kDone;
}
