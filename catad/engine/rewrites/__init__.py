"""Rewrites of wirings before they run: fusion, merging, contractions."""
