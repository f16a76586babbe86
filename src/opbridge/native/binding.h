// Compares the signature that a kernel exports with the operator's schema: once, at binding, and not in each call.
#ifndef OPBRIDGE_NATIVE_BINDING_H
#define OPBRIDGE_NATIVE_BINDING_H

#include "invoke.h"

namespace opbridge {

namespace detail {

inline const char* attribute_word(int32_t kind) {
  switch (kind) {
    case OB_ARG_BOOL:
      return "bool";
    case OB_ARG_INT:
      return "int";
    case OB_ARG_FLOAT:
      return "float";
    case OB_ARG_STRING:
      return "str";
    case OB_ARG_INTS:
      return "int[]";
    case OB_ARG_FLOATS:
      return "float[]";
    case OB_ARG_BOOLS:
      return "bool[]";
    case OB_ARG_DTYPE:
      return "ScalarType";
    default:
      return "Scalar";
  }
}

// A type as the schema says it.
inline std::string schema_word(const ArgPlan& arg) {
  static const char* const words[] = {"Tensor", "bool", "int", "float", "str", "ScalarType", "Scalar"};
  const std::string word =
      arg.kind == Kind::Other ? "a type that kernels do not take" : words[static_cast<int>(arg.kind)];
  return word + (arg.has(kRows) ? "[][]" : arg.has(kList) ? "[]" : "");
}

inline std::string counted(size_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

inline bool attribute_fits(const ArgPlan& arg, int32_t wanted) {
  const bool list = arg.has(kList);
  if (arg.has(kRows)) return false;
  switch (wanted) {
    case OB_ARG_NONE:
      return !list &&
             (arg.kind == Kind::Scalar || arg.kind == Kind::Int || arg.kind == Kind::Float || arg.kind == Kind::Bool);
    case OB_ARG_BOOL:
      return !list && arg.kind == Kind::Bool;
    case OB_ARG_INT:
      return !list && (arg.kind == Kind::Int || arg.kind == Kind::Scalar);
    case OB_ARG_FLOAT:
      return !list && (arg.kind == Kind::Float || arg.kind == Kind::Int || arg.kind == Kind::Scalar);
    case OB_ARG_STRING:
      return !list && arg.kind == Kind::String;
    case OB_ARG_INTS:
      return list && arg.kind == Kind::Int;
    case OB_ARG_FLOATS:
      return list && arg.kind == Kind::Float;
    case OB_ARG_BOOLS:
      return list && arg.kind == Kind::Bool;
    case OB_ARG_DTYPE:
      return !list && arg.kind == Kind::Dtype;
    default:
      return false;
  }
}

}  // namespace detail

// Fills what the kernel needs of the operator, which must stay where it is; returns an explanation where kernel and
// schema do not fit, else an empty string.
inline std::string bind(const OpPlan& op, Binding& kernel) {
  std::vector<const ArgPlan*> tensors, attributes;
  for (const ArgPlan& arg : op.args) (arg.is_tensor() ? tensors : attributes).push_back(&arg);
  kernel.strided.assign(tensors.size(), 0);
  kernel.arg_names.clear();
  for (const ArgPlan& arg : op.args) kernel.arg_names.push_back(arg.name.c_str());
  if (op.outputs_from_kernel() && !(kernel.aot && kernel.aot->infers()))
    return op.full_name() + " needs an out rule: its library has no " + kernel.symbol +
           "InferShape that would give the shapes of the outputs\n  " + op.schema;
  if (!kernel.signature) {
    kernel.kinds = std::make_shared<KnownKinds>();
    return {};
  }

  const ob_signature& signature = *kernel.signature;
  size_t outputs = 0;
  for (const OutPlan& out : op.outs) outputs += out.alias_arg < 0;
  const std::string where = std::string(signature.file ? signature.file : "?") + ":" + std::to_string(signature.line);
  const std::string head = where + ": kernel " + kernel.symbol + " does not fit " + op.schema + "\n  ";
  if (signature.version > OB_ABI_VERSION)
    return head + "it was built for kernel interface " + std::to_string(signature.version) + ", this opbridge has " +
           std::to_string(OB_ABI_VERSION) + "; upgrade opbridge or rebuild the kernel";

  size_t tensor = 0, output = 0, attribute = 0;
  for (int32_t i = 0; i < signature.n_params; ++i) {
    const ob_param& param = signature.params[i];
    const std::string position = "its parameter " + std::to_string(i + 1) + " ";
    if (param.role == OB_PARAM_OUT) {
      if (++output > outputs)
        return head + position + "is an ob::Out, but the schema has " + detail::counted(outputs, "new output");
    } else if (param.role == OB_PARAM_ATTR) {
      if (attribute == attributes.size())
        return head + position + "is an attribute (" + detail::attribute_word(param.type) +
               "), but the schema has only " + detail::counted(attributes.size(), "attribute");
      const ArgPlan& arg = *attributes[attribute++];
      if (!detail::attribute_fits(arg, param.type))
        return head + position + "takes " + detail::attribute_word(param.type) + ", but '" + arg.name +
               "' of the schema is " + detail::schema_word(arg);
      if (arg.has(kOptional) && !(param.flags & OB_PARAM_OPTIONAL))
        return head + position + "cannot be None, but '" + arg.name + "' of the schema can: take an ob::Optional";
    } else {
      if (tensor == tensors.size())
        return head + position + "is an input tensor, but the schema has only " +
               detail::counted(tensors.size(), "tensor");
      const ArgPlan& arg = *tensors[tensor];
      if (arg.has(kList) != ((param.flags & OB_PARAM_LIST) != 0))
        return head + position + (arg.has(kList) ? "takes one tensor, but '" : "takes a list of tensors, but '") +
               arg.name + (arg.has(kList) ? "' is a list: take an ob::List" : "' is one tensor");
      if (arg.has(kOptional) && !(param.flags & OB_PARAM_OPTIONAL))
        return head + position + "cannot be None, but '" + arg.name + "' of the schema can: take an ob::Optional";
      if (param.role == OB_PARAM_INOUT && !arg.has(kMutable))
        return head + position + "is an ob::InOut, but '" + arg.name +
               "' is not written to by the schema: write Tensor(a!) there or take an ob::In";
      if (param.role == OB_PARAM_IN && arg.has(kMutable))
        return head + position + "is an ob::In, but the schema says '" + arg.name +
               "' is written to: take an ob::InOut";
      kernel.strided[tensor++] = (param.flags & OB_PARAM_STRIDED) != 0;
    }
  }
  if (tensor != tensors.size())
    return head + "it takes " + detail::counted(tensor, "input tensor") + ", the schema has " +
           std::to_string(tensors.size()) + ": '" + tensors[tensor]->name + "' has no parameter";
  if (output != outputs)
    return head + "it has " + detail::counted(output, "ob::Out parameter") + ", the schema returns " +
           detail::counted(outputs, "new tensor");
  if (attribute != attributes.size())
    return head + "the schema's attribute '" + attributes[attribute]->name + "' has no parameter in the kernel";
  return {};
}

}  // namespace opbridge

#endif
