"""From a working ops.yaml to sources that need nothing of opbridge: its rules become C++, its kernels stay as they are.

expressions   numbers, sizes and dtypes of rules in C++
formulas      derivatives in C++, in terms of at:: functions
operators     the operators of a manifest as a backend's
files         the kernels' sources, the headers they include, and a build
"""
