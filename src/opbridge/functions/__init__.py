"""What `ob.autograd` and `ob.module` go by: signatures of plain functions, and how a forward and a backward fit."""
