"""Morphisms as functions of other libraries."""
