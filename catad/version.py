"""The version of the library: the only place that says it, also for the wheel. It is part of the key of compiled code on disk."""

__version__ = "0.1.0"
