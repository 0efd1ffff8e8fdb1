"""Linear algebra and complex numbers."""
