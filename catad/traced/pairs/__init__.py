"""Complex stand-ins, and what NumPy's functions mean on them: formulas on pairs of real stand-ins."""
