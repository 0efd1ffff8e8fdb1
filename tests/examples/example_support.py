"""Examples as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


class _Example:
    """An example as a module of its own, imported when its first name is read: some import large libraries."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        vars(self).update({k: v for k, v in vars(_imported(self._name)).items() if not k.startswith("_")})
        return object.__getattribute__(self, name)


def example(name: str) -> Any:
    """A fresh import of one example, made when it is used."""
    return _Example(name)


def _imported(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
