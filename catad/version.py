"""The version of the library: part of the key under which compiled code is kept."""

__version__ = "0.1.0"
