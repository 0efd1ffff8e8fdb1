"""Plant each bug of the table in a copy of the checkout, run the tests, and print which one caught it.

    python -m tests.planted                 all of them, by the tests that the table names
    python -m tests.planted cosine lanes    those with these words in their names
    python -m tests.planted --whole         what these tests do not catch is given to the whole suite
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .table import BUGS, Bug

ROOT = Path(__file__).parents[2]
LIMIT = 900  # seconds, many times what the named tests take
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "out")


def planted(bug: Bug, root: Path) -> str:
    """The text of the file with the bug in it."""
    path = root / "catad" / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise SystemExit(f"{bug.name}: the line stands {text.count(bug.old)} times in {bug.file}; correct tests/planted")
    return text.replace(bug.old, bug.new)


def run(folder: Path, tests: list[str], processes: str) -> str | None:
    """The first test that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-x", "-n", processes, "-p", "no:cacheprovider", *tests]
    env = {**os.environ, "PYTHONPATH": str(folder), "HYPOTHESIS_PROFILE": "ci", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("CATAD_TESTS_CACHE", None)
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"{tests[0] if tests else 'the suite'}, which does not end within {LIMIT} s"
    if done.returncode in (0, 5):
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else f"exit code {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"


def caught_by(bug: Bug, whole: bool) -> str | None:
    """The test that fails with the bug in a copy of the checkout."""
    with tempfile.TemporaryDirectory(prefix="planted-") as temporary:
        folder = Path(temporary) / "checkout"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        (folder / "catad" / bug.file).write_text(planted(bug, ROOT), encoding="utf-8")
        return run(folder, [f"tests/{bug.tests}"], "0") or (run(folder, [], "auto") if whole else None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description="Plant bugs and see which test catches each.")
    parser.add_argument("words", nargs="*", help="only bugs with one of these in their names")
    parser.add_argument("--whole", action="store_true", help="run the whole suite where the named tests catch nothing")
    given = parser.parse_args()
    chosen = [bug for bug in BUGS if not given.words or any(word in bug.name for word in given.words)]
    missed = 0
    for bug in chosen:
        test = caught_by(bug, given.whole)
        missed += test is None
        print(f"{'caught' if test else 'MISSED'}  {bug.name} ({bug.file}): {test or 'no test of tests/' + bug.tests}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} bugs were caught")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
