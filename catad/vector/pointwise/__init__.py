"""Scalar functions at each entry: `map`, and the functions on arrays after NumPy's ufuncs."""
