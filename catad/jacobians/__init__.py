"""Derivatives at a point: linear maps, products with vectors, pullbacks, Jacobians and Hessians."""
