"""Folds: reductions along axes, contractions, and the derivatives of special folds."""
