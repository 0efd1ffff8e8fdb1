"""Examples are written as scripts, each for a process of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _put_back(process_settings: None) -> None:
    """What an example sets for its process ends with the test."""
