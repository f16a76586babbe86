// make_float4 and similar functions.
#ifndef OPBRIDGE_TWIN_VECTOR_FUNCTIONS_H
#define OPBRIDGE_TWIN_VECTOR_FUNCTIONS_H

#include <vector_types.h>

#define OB_TWIN_MAKE(name, type)                                                 \
  constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

OB_TWIN_MAKE(char, signed char)
OB_TWIN_MAKE(uchar, unsigned char)
OB_TWIN_MAKE(short, short)
OB_TWIN_MAKE(ushort, unsigned short)
OB_TWIN_MAKE(int, int)
OB_TWIN_MAKE(uint, unsigned)
OB_TWIN_MAKE(long, long)
OB_TWIN_MAKE(ulong, unsigned long)
OB_TWIN_MAKE(longlong, long long)
OB_TWIN_MAKE(ulonglong, unsigned long long)
OB_TWIN_MAKE(float, float)
OB_TWIN_MAKE(double, double)
#undef OB_TWIN_MAKE

#endif
