"""How Sphinx builds the site."""

import catad

project = "catad"
author = "catad developers"
project_copyright = f"2026, {author}"
version = release = catad.__version__

extensions = ["myst_parser"]
exclude_patterns = ["_build", "_generated"]
myst_heading_anchors = 4
html_theme = "pydata_sphinx_theme"
html_title = f"catad {release}"
