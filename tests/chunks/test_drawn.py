"""Drawn programs on arrays in blocks at random edges, against the same programs on whole arrays."""

import numpy as np
import pytest

import catad as ct
from catad.testing import check_chunks

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from catad.testing import points, terms

DOMAINS = [ct.f64[6], ct.f32[5], ct.f64[4, 3], ct.f64[5] * ct.f64[5], ct.f64[3, 4] * ct.f64[4]]


def arguments(dom, x):
    return x if isinstance(dom, ct.Product) else (x,)


@pytest.mark.parametrize("dom", DOMAINS, ids=str)
@settings(max_examples=12)
@given(data=st.data())
def test_polynomials_of_integers_are_equal(dom, data):
    f = data.draw(terms(dom, polynomial=True))
    x = arguments(dom, data.draw(points(dom, small_integers=True)))
    with ct.use_engine("reference"):
        check_chunks(f, *x, seed=data.draw(st.integers(0, 10**6)))


@pytest.mark.parametrize("dom", DOMAINS, ids=str)
@settings(max_examples=8)
@given(data=st.data())
def test_smooth_terms_are_equal_but_for_rounding(dom, data):
    f = data.draw(terms(dom, smooth=True, boxes=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    x = [rng.uniform(0.2, 0.9, leaf.shape).astype(leaf.dtype) for leaf in dom.leaves]
    with ct.use_engine("reference"):
        check_chunks(f, *x, seed=data.draw(st.integers(0, 10**6)))
