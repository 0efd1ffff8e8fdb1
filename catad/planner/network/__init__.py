"""Elimination of the linear graph of a program: structured edges, orders in which vertices go, plans that run them."""
