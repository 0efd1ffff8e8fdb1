"""Histograms, folds by bin, and sorting."""
