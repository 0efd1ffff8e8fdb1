"""The combinators: maps, folds, scans, histograms, loops, indexing, and the shapes of arrays."""
