"""Scans and recurrences: all prefixes of an associative operator."""
