"""How Sphinx builds the site; docs/_links.py makes the pages of files that lie outside docs/, and all links to them."""

import sys
from pathlib import Path

import catad

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))  # the modules of this folder that begin with an underscore
from _gallery import pages as gallery_pages  # noqa: E402
from _links import addresses  # noqa: E402

project = "catad"
author = "catad developers"
project_copyright = f"2026, {author}"
version = release = catad.__version__

extensions = ["myst_parser", "sphinx_copybutton", "_links", "_gallery", "_reference"]
exclude_patterns = ["_build", "gallery"]  # gallery/ holds programs, whose pages are in _generated/
myst_heading_anchors = 4
nitpicky = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_baseurl = addresses(FOLDER.parent).get("Documentation", "")
html_title = f"catad {release}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["catad.css"]
html_favicon = "_static/catad.svg"
html_sidebars = {"index": [], "search": []}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_theme_options = {
    "logo": {"text": f"catad {release}", "image_light": "_static/catad.svg", "image_dark": "_static/catad.svg"},
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher", "repository"],
    "secondary_sidebar_items": {
        "**": ["page-toc", "edit-page", "sourcelink"],
        **{page: [] for page in ("index", *gallery_pages())},
    },
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
linkcheck_timeout = 20
