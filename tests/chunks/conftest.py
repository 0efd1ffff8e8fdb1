"""Clusters as fixtures: `cluster` has two workers, or as many as a test asks for by `@pytest.mark.cluster(workers=3)`."""

import pytest

from .cluster import bounded, running

SECONDS = 60  # for a test on a cluster, with its start and its end


@pytest.fixture
def cluster(request, tmp_path):
    """A cluster that ends with the test, whatever happens; dask computes on it."""
    pytest.importorskip("distributed")
    mark = request.node.get_closest_marker("cluster")
    options = {"workers": 2} | (mark.kwargs if mark is not None else {})
    with bounded(SECONDS), running(folder=tmp_path, **options) as started:
        yield started


def pytest_collection_modifyitems(items):
    """Tests that take a cluster have the mark, so that `-m "not cluster"` leaves them out."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()) and item.get_closest_marker("cluster") is None:
            item.add_marker(pytest.mark.cluster)
