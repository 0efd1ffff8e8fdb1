"""Arrays of Dask as arrays in chunks: their tasks are a graph."""
