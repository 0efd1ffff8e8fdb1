"""The site, for all files of tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from built import build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    shared = tmp_path_factory.getbasetemp()
    return build(shared.parent if hasattr(request.config, "workerinput") else shared)
