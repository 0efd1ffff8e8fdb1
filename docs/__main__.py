"""Build the site: `python -m docs [--out DIR]`, from a checkout with `pip install '.[docs]'`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site of catad as HTML.")
    parser.add_argument("--out", type=Path, default=FOLDER / "_build" / "html", help="where the pages go")
    out: Path = parser.parse_args().out
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        print("Sphinx builds the site: pip install '.[docs]'", file=sys.stderr)
        return 2
    doctrees = str(out.parent / "doctrees")
    status = build_main(["-b", "html", "-W", "--keep-going", "-j", "2", "-d", doctrees, str(FOLDER), str(out)])
    if not status:
        print(f"the site: {out / 'index.html'}")
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
