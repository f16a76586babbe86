// Tiling structs as their hosts declare them: plain data with setters.
#ifndef OPBRIDGE_ASCEND_KERNEL_TILING_H
#define OPBRIDGE_ASCEND_KERNEL_TILING_H

#include <stdint.h>
#include <string.h>

#define BEGIN_TILING_DATA_DEF(Name) struct Name {
#define TILING_DATA_FIELD_DEF(Type, field)        \
  Type field = {};                                \
  void set_##field(Type value) { field = value; } \
  Type get_##field() const { return field; }
#define TILING_DATA_FIELD_DEF_ARR(Type, length, field)                          \
  Type field[length] = {};                                                      \
  void set_##field(const Type* values) { memcpy(field, values, sizeof field); } \
  const Type* get_##field() const { return field; }
#define TILING_DATA_FIELD_DEF_STRUCT(Type, field) Type field = {};
#define END_TILING_DATA_DEF }

#endif
