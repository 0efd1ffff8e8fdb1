"""Claims of the how-to pages that take longer than the pages themselves, and their pictures."""

from __future__ import annotations

import warnings

import pytest
from docs_support import ROOT, blocks, compiled, prompt, run


@pytest.mark.slow
def test_the_estimator_of_the_page_passes_the_checks_of_scikit_learn() -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    selection = pytest.importorskip("sklearn.model_selection")
    page = ROOT / "docs" / "how-to" / "scikit-learn.md"
    with prompt() as names, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checks that it skips
        exec(compiled(blocks(page.read_text(encoding="utf-8"))[0], page.name), names)
        checks.check_estimator(names["QuantileRegressor"]())
        grid = {"quantile": [0.25, 0.5], "alpha": [1e-3, 1e-2]}
        search = selection.GridSearchCV(names["QuantileRegressor"](), grid, n_jobs=2).fit(names["X"], names["y"])
        assert search.best_params_["quantile"] == 0.5


def test_the_pictures_of_the_page_about_pictures_are_those_that_its_blocks_draw() -> None:
    page = ROOT / "docs" / "how-to" / "pictures-in-notebooks.md"
    source = page.read_text(encoding="utf-8")
    with prompt() as names:
        run(source, page.name, names)
        drawn = {
            "map": names["J"]._repr_svg_(),
            "program": names["program"].draw(),
            "elimination": names["plan"].animate(),
            "bars": names["sizes"].draw_bars(),
        }
    for name, text in drawn.items():
        assert f"(../pictures/notebook_{name}.svg)" in source
        assert (ROOT / "docs" / "pictures" / f"notebook_{name}.svg").read_text(encoding="utf-8") == text + "\n", name
