"""Turn a working ops.yaml into sources that do not need opbridge: rules become C++, kernels stay unchanged.

expressions   numbers, sizes and dtypes of rules in C++
formulas      derivatives in C++, in terms of at:: functions
operators     the operators of a manifest as those of a backend
files         the kernel sources, the headers that they include, and a build
"""
