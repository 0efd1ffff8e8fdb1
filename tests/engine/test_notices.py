"""Notices: once for each key, in any number of threads."""

from __future__ import annotations

import threading
import warnings

import pytest

import catad as ct
from catad.errors.notices import forget, notice


@pytest.fixture(autouse=True)
def own_keys():
    yield
    forget("test a")
    forget("test b")


def test_once_for_each_key() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        given = [notice(key, f"about {key}") for key in ("test a", "test b", "test a", "test b")]
    assert given == [True, True, False, False]
    assert [(w.category, str(w.message)) for w in seen] == [
        (ct.CatadNotice, "about test a"),
        (ct.CatadNotice, "about test b"),
    ]
    assert all(w.filename == __file__ for w in seen)


def test_forgotten_keys_are_given_again() -> None:
    with pytest.warns(ct.CatadNotice):
        notice("test a", "first")
    forget("test a")
    with pytest.warns(ct.CatadNotice, match="again"):
        notice("test a", "again")


def test_as_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ct.CatadNotice)
        with pytest.raises(ct.CatadNotice, match="now an error"):
            notice("test a", "now an error")
        assert not notice("test a", "said already")


def test_category_is_a_user_warning_of_the_public_name() -> None:
    assert issubclass(ct.CatadNotice, UserWarning) and not issubclass(ct.CatadNotice, ct.CatadError)
    assert ct.CatadNotice.__module__ == "catad.errors"


def test_threads_that_meet() -> None:
    together, given = threading.Barrier(8), []

    def say() -> None:
        together.wait(60)
        given.append(notice("test a", "many at once"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=say) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(given) == [False] * 7 + [True]
