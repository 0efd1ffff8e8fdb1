"""Other shapes of the same entries."""
