"""Programs on arrays in chunks."""
