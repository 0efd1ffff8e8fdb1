"""Whole programs as one compiled function."""
