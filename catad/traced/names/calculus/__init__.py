"""Integrals, and splines through points: `scipy.integrate`, `scipy.interpolate`."""
