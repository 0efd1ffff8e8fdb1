"""Loops with a state, branches, and loops whose derivatives keep few states."""
