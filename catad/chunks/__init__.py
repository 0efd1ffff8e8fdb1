"""Programs on arrays in chunks: which tasks run, on which chunks, and what they exchange."""
