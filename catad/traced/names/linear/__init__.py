"""The decompositions of `numpy.linalg`, and what `scipy.linalg` has."""
