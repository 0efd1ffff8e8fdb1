"""What works along an axis: scans, recurrences, segments, positions of extrema; with what stands before each block."""
