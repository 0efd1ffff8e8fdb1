"""Running Python as a user would: another process, in another folder, with a home and a cache of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 300
Ran = subprocess.CompletedProcess[str]


def environment(path: Path | None, cwd: Path, **more: str) -> dict[str, str]:
    """The environment of such a process, where `path` comes first among the folders of modules."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("CATAD_", "PYTHONPATH"))}
    first = {} if path is None else {"PYTHONPATH": str(path)}
    return own | first | {"CATAD_CACHE_DIR": str(cwd / "cache"), "PYTHONDONTWRITEBYTECODE": "1"} | more


def python(*arguments: str, cwd: Path, path: Path | None = ROOT, at: str = sys.executable, **more: str) -> Ran:
    """Run `python ...` there; it prints no traceback."""
    command = [at, *arguments]
    ran = subprocess.run(command, cwd=cwd, env=environment(path, cwd, **more), capture_output=True, text=True, timeout=SECONDS)
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran
