"""Functions given by an equation."""
