"""Complex numbers in the scalar language: values of two nodes, and the formulas of functions on them."""
