"""What functions of NumPy, `math`, SciPy and Python mean for stand-ins: one table a topic."""

import importlib

_TOPICS = (
    "python",
    "making",
    "shapes",
    "reductions",
    "joining",
    "concatenators",
    "products",
    "choosing",
    "mathematics",
    "universal",
    "moving",
    "ordering",
    "differences",
    "counting",
    "picking",
    "rounding",
    "special",
    "array_api",
    "along_axis",
    "ragged",
    "entries",
    "hints",
)


def load() -> None:
    """Fill the tables."""
    for topic in _TOPICS:
        importlib.import_module(f"catad.traced.names.{topic}")
    importlib.import_module("catad.traced.protocols")
