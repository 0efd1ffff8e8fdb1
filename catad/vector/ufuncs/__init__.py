"""The pointwise functions on arrays, after NumPy's ufuncs: `ct.sin`, `ct.maximum`, `ct.where`, ...

Each is `map` of one scalar function of `catad.scalar`, with its help. Names are those of NumPy and `math`; where they differ,
both name one morphism (`arcsin` is `asin`). Conventions at kinks are in docs/conventions.md.
"""
