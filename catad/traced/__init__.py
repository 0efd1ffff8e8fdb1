"""Tracing: ordinary Python functions on arrays, run on stand-ins, become programs. `function.py` has `ct.function`."""
