"""`python -m catad.testing`: test this installation; exit status 1 where a check fails. `--quick` takes about 2 seconds."""

from __future__ import annotations

import argparse
import platform
import sys

import numpy as np

from catad.testing.installation.run import engines, run
from catad.version import __version__


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m catad.testing", description="Test this installation of catad.")
    parser.add_argument("--quick", action="store_true", help="a few checks, which take about 2 seconds")
    given = parser.parse_args()
    print(f"catad {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, engines {', '.join(engines())}")
    outcome = run(given.quick)
    print(outcome.summary())
    return bool(outcome.failures)


if __name__ == "__main__":
    sys.exit(main())
