"""Branches, loops and lists of traced functions."""
