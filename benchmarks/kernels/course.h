// Twenty kernels as courses and papers have them, and the same by loops as one would write them for a processor.
#ifndef OPBRIDGE_BENCHMARKS_COURSE_H
#define OPBRIDGE_BENCHMARKS_COURSE_H

// Two inputs, an output, and what one of them is made of; all of at least `kElements`.
struct Arrays {
  const float* x;
  const float* y;
  const int* index;
  float* out;
};

constexpr int kElements = 1 << 20;
constexpr int kSide = 1024;     // of a picture or a matrix, kElements in all
constexpr int kProduct = 192;   // of matrices that are multiplied
constexpr int kBodies = 1024;   // that attract each other
constexpr int kRows = 1 << 16;  // of a sparse matrix, with kRowLength elements each
constexpr int kRowLength = 16;
constexpr int kBins = 256;
constexpr int kBlock = 256;
constexpr int kRadius = 3;  // of a filter in one dimension

constexpr float kFilter[2 * kRadius + 1] = {0.05f, 0.1f, 0.2f, 0.3f, 0.2f, 0.1f, 0.05f};
constexpr float kMask[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};

// One for each kernel, by its name.
struct Loop {
  const char* kernel;
  void (*run)(const Arrays&);
  int outputs;
};
extern const Loop kLoops[20];

#endif
