"""The experiments as modules."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "experiments"


def experiment(name: str) -> Any:
    """The module of an experiment, imported as a script is: its folder is on the path, since experiments import each other."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    module = importlib.import_module(name)
    assert Path(str(module.__file__)).parent == FOLDER
    return module
