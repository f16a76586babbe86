// The names of element types and formats, as hosts print them.
#ifndef OPBRIDGE_ASCEND_GRAPH_UTILS_TYPE_UTILS_H
#define OPBRIDGE_ASCEND_GRAPH_UTILS_TYPE_UTILS_H

#include "opbridge_ascend/host/graph.h"

namespace ge {

class TypeUtils {
 public:
  static std::string DataTypeToSerialString(DataType type) {
    switch (type) {
#define OPBRIDGE_ASCEND_DTYPE(name, code, bytes, kernel) \
  case DT_##name:                                        \
    return "DT_" #name;
      OPBRIDGE_ASCEND_DTYPES(OPBRIDGE_ASCEND_DTYPE)
#undef OPBRIDGE_ASCEND_DTYPE
      default:
        return type == DT_INT4 ? "DT_INT4" : "UNDEFINED";
    }
  }
  static AscendString DataTypeToAscendString(const DataType& type) { return DataTypeToSerialString(type).c_str(); }
  static std::string FormatToSerialString(Format format) {
    switch (format) {
#define OPBRIDGE_ASCEND_FORMAT(name) \
  case FORMAT_##name:                \
    return #name;
      OPBRIDGE_ASCEND_FORMAT(NCHW)
      OPBRIDGE_ASCEND_FORMAT(NHWC)
      OPBRIDGE_ASCEND_FORMAT(ND)
      OPBRIDGE_ASCEND_FORMAT(NC1HWC0)
      OPBRIDGE_ASCEND_FORMAT(FRACTAL_Z)
      OPBRIDGE_ASCEND_FORMAT(HWCN)
      OPBRIDGE_ASCEND_FORMAT(NCDHW)
      OPBRIDGE_ASCEND_FORMAT(NDHWC)
      OPBRIDGE_ASCEND_FORMAT(FRACTAL_NZ)
#undef OPBRIDGE_ASCEND_FORMAT
      default:
        return "RESERVED";
    }
  }
  static AscendString FormatToAscendString(const Format& format) { return FormatToSerialString(format).c_str(); }
};

}  // namespace ge
#endif
