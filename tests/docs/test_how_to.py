"""Claims of the how-to pages that take longer than the pages themselves."""

from __future__ import annotations

import warnings

import pytest
from docs_support import ROOT, blocks, compiled, prompt


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
