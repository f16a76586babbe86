"""The analysis for `ob.autograd` and `ob.module`: signatures of plain functions, and pairs of forward and backward."""
