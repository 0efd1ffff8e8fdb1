"""Boxes with programs in them: loops, choices, checkpoints."""
