"""The partition of a wiring into passes, as data: no machine, no text."""
