// The vector types of CUDA: plain structures, aligned so that a GPU loads one in a single access.
#ifndef OPBRIDGE_TWIN_VECTOR_TYPES_H
#define OPBRIDGE_TWIN_VECTOR_TYPES_H
#define __VECTOR_TYPES_H__  // how programs ask whether it is included

#define OB_TWIN_VECTORS(name, type, align2, align4)                     \
  struct name##1 { type x; };                                           \
  struct __attribute__((aligned(align2))) name##2 { type x, y; };       \
  struct name##3 { type x, y, z; };                                     \
  struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; }; \
  typedef struct name##1 name##1;                                       \
  typedef struct name##2 name##2;                                       \
  typedef struct name##3 name##3;                                       \
  typedef struct name##4 name##4;

OB_TWIN_VECTORS(char, signed char, 2, 4)
OB_TWIN_VECTORS(uchar, unsigned char, 2, 4)
OB_TWIN_VECTORS(short, short, 4, 8)
OB_TWIN_VECTORS(ushort, unsigned short, 4, 8)
OB_TWIN_VECTORS(int, int, 8, 16)
OB_TWIN_VECTORS(uint, unsigned, 8, 16)
OB_TWIN_VECTORS(long, long, 16, 16)
OB_TWIN_VECTORS(ulong, unsigned long, 16, 16)
OB_TWIN_VECTORS(longlong, long long, 16, 16)
OB_TWIN_VECTORS(ulonglong, unsigned long long, 16, 16)
OB_TWIN_VECTORS(float, float, 8, 16)
OB_TWIN_VECTORS(double, double, 16, 16)
#undef OB_TWIN_VECTORS

// What is not given is 1, so that a plain number is a grid of one dimension.
struct dim3 {
  unsigned x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
#endif
};
typedef struct dim3 dim3;

#endif
