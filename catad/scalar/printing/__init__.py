"""Scalar functions as text: Python, array code, and LLVM IR."""
