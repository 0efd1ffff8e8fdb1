"""The gallery: `docs/gallery/*.py` run and become pages with sphinx-gallery, an extension of Sphinx.

All settings of the gallery are here. An entry that imports a library which is missing is shown without being run, and says so.
What an entry draws is a figure of matplotlib, or a value with a picture of its own in the last line of a block (`_repr_svg_`).
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path, PurePosixPath
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
    """The picture of the last value of a block, as a file and as the text that shows it; nothing where it has none."""
    from sphinx_gallery.scrapers import figure_rst

    value = found["example_globals"].get("___")
    if not hasattr(value, "_repr_svg_") or isinstance(value, type):
        return ""
    path = PurePosixPath(next(found["image_path_iterator"])).with_suffix(".svg")
    Path(path).write_text(value._repr_svg_())
    return figure_rst([str(path)], conf["src_dir"], repr(value).splitlines()[0])


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
        "matplotlib_animations": (True, "jshtml"),
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
