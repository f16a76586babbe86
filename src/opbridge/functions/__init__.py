"""What `ob.autograd` and `ob.module` make of plain functions: signatures, and how forward and backward fit."""
