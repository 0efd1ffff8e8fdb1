"""The gallery: `docs/gallery/*.py` run and become pages with sphinx-gallery, an extension of Sphinx.

All settings of the gallery are here. An entry that imports a library which is missing is shown without being run, and says so.
What an entry draws is a figure of matplotlib, or the value in the last line of a block, as a notebook shows it.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

ENTRIES = Path(__file__).parent / "gallery"
OUT = "_generated/gallery"
OPTIONAL = ("dask", "jax", "sklearn", "torch")
STYLE = {
    "axes.prop_cycle": "cycler('color', ['#0b62a4', '#c8500a', '#137a4c', '#8a3f9c', '#8a6d00', '#b3263c', '#4a5560'])",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.dpi": 100,
    "figure.facecolor": "white",  # one ground in the light and in the dark scheme, since the text of a picture is dark
    "font.size": 10,
    "image.cmap": "viridis",
    "legend.fontsize": "small",
    "legend.frameon": False,
}


def pages() -> list[str]:
    """The names of all pages of the gallery; each is as wide as its pictures, with nothing beside it."""
    return [f"{OUT}/{name}" for name in ("index", *[entry.stem for entry in sorted(ENTRIES.glob("*.py"))])]


def missing(entry: Path) -> list[str]:
    """The optional libraries that an entry imports and that are not installed."""
    tree = ast.parse(entry.read_text())
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    roots = {module.split(".")[0] for module in modules}
    return [name for name in OPTIONAL if name in roots and importlib.util.find_spec(name) is None]


def styled(_conf: dict[str, Any], _name: str) -> None:
    """Before each entry: the defaults of matplotlib with the style of the gallery."""
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.rcParams.update(STYLE)


def picture(_block: Any, found: dict[str, Any], conf: dict[str, Any]) -> str:
    """The picture of the last value of a block, as a part of the page, and a file of it for the grid of all entries.

    It is what a notebook shows of the value, or SVG text; nothing where there is none.
    """
    value = found["example_globals"].get("___")
    if value is None or isinstance(value, type):
        return ""
    found["example_globals"]["___"] = None  # it is the last value of this block alone
    svg = value if isinstance(value, str) else getattr(value, "_repr_svg_", str)()
    if not svg or not svg.startswith("<svg"):
        return ""
    html = getattr(value, "_repr_html_", lambda: svg)()
    Path(next(found["image_path_iterator"])).with_suffix(".svg").write_text(cropped(svg, *conf["thumbnail_size"]))
    return f".. raw:: html\n\n{indent(html, '    ')}\n"


def cropped(svg: str, width: int, height: int) -> str:
    """The left part of a picture, where it is wider than a frame of this width and height."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if box is None or float(box[1]) * height <= float(box[2]) * width:
        return svg
    seen = float(box[2]) * width / height
    size = f'width="{width}" height="{height}" viewBox="0 0 {seen:.1f} {box[2]}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="catad" {size}>{svg}</svg>'


def settings() -> dict[str, Any]:
    """What sphinx-gallery is told."""
    run = [entry.stem for entry in sorted(ENTRIES.glob("*.py")) if not missing(entry)]
    here = Path(__file__).stem
    return {
        "abort_on_example_error": False,  # an error is a warning, which fails the build when all entries are through
        "backreferences_dir": None,
        "capture_repr": (),
        "download_all_examples": False,
        "examples_dirs": ["gallery"],
        "filename_pattern": rf"[\\/](?:{'|'.join(map(re.escape, run))})\.py$",
        "gallery_dirs": [OUT],
        "image_scrapers": ("matplotlib", f"{here}.picture"),
        "image_srcset": ["2x"],
        "min_reported_time": 3600,  # a page says nothing about the speed of the machine that built it
        "parallel": importlib.util.find_spec("joblib") is not None,
        "remove_config_comments": True,
        "reset_modules": (f"{here}.styled",),
        "run_stale_examples": True,  # the numbers on a page are those of the code that is there
        "show_memory": False,
        "show_signature": False,
        "thumbnail_size": (400, 280),
        "within_subsection_order": "ExampleTitleSortKey",
        "write_computation_times": False,
    }


def say_what_did_not_run(_app: Any, name: str, source: list[str]) -> None:
    """A notice below the title of an entry that was not run."""
    entry = ENTRIES / f"{Path(name).name}.py"
    if not name.startswith(f"{OUT}/") or not entry.is_file() or not (lacking := missing(entry)):
        return
    notice = f".. note::\n\n   This page was not run, since this build lacks {' and '.join(lacking)}. So it has no picture.\n"
    source[0] = re.sub(r"(\n=+\n)", rf"\1\n{notice}", source[0], count=1)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    sys.path.insert(0, str(Path(__file__).parent))  # sphinx-gallery imports the functions that are named above
    app.setup_extension("sphinx_gallery.gen_gallery")
    app.config.sphinx_gallery_conf = settings()
    app.connect("source-read", say_what_did_not_run)
    return {"parallel_read_safe": True}
