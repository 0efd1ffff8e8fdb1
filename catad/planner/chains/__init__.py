"""Bracketings of chains of linear maps."""
