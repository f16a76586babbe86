#include "register/op_def_registry.h"
#include "scaled_sum_tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  const auto* const attributes = context->GetAttrs();
  const gert::StorageShape* const shape = context->GetInputShape(0);
  if (shape == nullptr || shape->GetStorageShape().GetDimNum() == 0) return ge::GRAPH_FAILED;
  const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const auto total = static_cast<uint32_t>(shape->GetStorageShape().GetShapeSize());
  const uint32_t cores = total < platform.GetCoreNumAiv() * 8 ? 1 : 4;
  ScaledSumTilingData tiling;
  tiling.set_total(total);
  tiling.share.set_perCore((total + cores - 1) / cores);
  tiling.set_factor(*attributes->GetFloat(0));
  context->SetBlockDim(cores);
  context->SetTilingKey(context->GetInputTensor(0)->GetDataType() == ge::DT_FLOAT ? 1 : 2);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}
static graphStatus InferDataType(gert::InferDataTypeContext* context) {
  return context->SetOutputDataType(0, context->GetInputDataType(0));
}
}  // namespace ge

namespace ops {
class ScaledSum : public OpDef {
 public:
  explicit ScaledSum(const char* name) : OpDef(name) {
    this->Input("x")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Input("y")
        .ParamType(OPTIONAL)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Output("z")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Attr("factor").AttrType(OPTIONAL).Float(1.5);
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(ScaledSum);
}  // namespace ops
