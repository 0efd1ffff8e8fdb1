"""Build the site: `python -m docs`, from a checkout with `pip install '.[docs]'`; `--help` says what else it does."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site of catad as HTML.")
    parser.add_argument("--out", type=Path, default=FOLDER / "_build" / "html", help="where the pages go")
    parser.add_argument("--links", action="store_true", help="check the links to other sites instead; needs a network")
    parser.add_argument("--open", action="store_true", help="show the site in a browser when it is built")
    options = parser.parse_args()
    out: Path = options.out.with_name("links") if options.links else options.out
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        print("Sphinx builds the site: pip install '.[docs]'", file=sys.stderr)
        return 2
    kind = "linkcheck" if options.links else "html"
    checks = ["-W", "--keep-going", "-j", "2", "-d", str(out.parent / f"doctrees-{kind}")]
    status = build_main(["-b", kind, *checks, str(FOLDER), str(out)])
    if not status and not options.links:
        print(f"the site: {out / 'index.html'}")
        if options.open:
            webbrowser.open((out / "index.html").resolve().as_uri())
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
