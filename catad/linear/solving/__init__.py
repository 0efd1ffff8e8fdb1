"""Solving with linear maps."""
