// Compiled by the project itself, and not as a library of kernels.
#include "times.cpp"
