"""Solutions of ordinary differential equations, y' = f(t, y)."""
