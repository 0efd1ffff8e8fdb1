"""Gradients within a limit of memory."""
