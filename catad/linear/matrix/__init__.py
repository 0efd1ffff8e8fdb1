"""The entries of linear maps: dense arrays, sparse matrices, patterns and colours."""
