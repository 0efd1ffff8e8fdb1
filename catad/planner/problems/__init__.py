"""Elimination of linear graphs: orders, bounds, exact and local search, and the plans they give."""
