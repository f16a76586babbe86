// What the hosts of registered operators include for their tiling structs.
#ifndef OPBRIDGE_ASCEND_TILINGDATA_BASE_H
#define OPBRIDGE_ASCEND_TILINGDATA_BASE_H

#include "kernel_tiling/kernel_tiling.h"

// The host of an operator registers its structs, so that the kernel gets the same ones.
#ifdef OPBRIDGE_ASCEND_OPERATOR_HOST
#include "opbridge_ascend/host/structs.h"

#undef OPBRIDGE_ASCEND_NOTE_STRUCT
#undef OPBRIDGE_ASCEND_NOTE_FIELD
#define OPBRIDGE_ASCEND_NOTE_STRUCT(Name) \
  static inline const bool opbridge_noted = ::opbridge_ascend::Structs::get().begin(#Name);
#define OPBRIDGE_ASCEND_NOTE_FIELD(Type, field, length) \
  static inline const bool opbridge_noted_##field = ::opbridge_ascend::Structs::get().add(#Type, #field, length);
#define REGISTER_TILING_DATA_CLASS(Operator, Name)                   \
  [[maybe_unused]] static const bool opbridge_tiling_of_##Operator = \
      ::opbridge_ascend::Structs::get().use(#Operator, #Name);
#else
// A kernel names its struct itself, or by REGISTER_TILING_DEFAULT: the twin looks for none by an operator's name.
#define REGISTER_TILING_DATA_CLASS(Operator, Name)
#endif

#endif
