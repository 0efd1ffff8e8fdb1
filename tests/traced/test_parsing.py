"""Python text is parsed right while other threads parse text of their own."""

from __future__ import annotations

import ast
import contextlib
import gc
import sys
import threading

import pytest

from catad.support.parsing import parsed

TEXT = "\n".join(f"x{i} = [a{i} + (b, c, d[{i}])]" for i in range(100))


def test_a_tree_that_another_thread_disturbed_is_made_again(monkeypatch):
    plain, disturbed = ast.parse, iter([True, True, False])

    def parse(*args, **options):
        if next(disturbed):
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=51)")
        return plain(*args, **options)

    monkeypatch.setattr(ast, "parse", parse)
    assert ast.unparse(parsed("x+1", "eval")) == "x + 1"


def test_an_error_that_remains_is_raised(monkeypatch):
    def parse(*args, **options):
        raise SystemError("always")

    monkeypatch.setattr(ast, "parse", parse)
    with pytest.raises(SystemError, match="always"):
        parsed("x")


def test_functions_are_read_while_others_parse():
    """The collector runs Python code while a tree is made, so that the threads take turns within trees."""
    over, callback = threading.Event(), lambda phase, info: [None for _ in range(30)]

    def other():
        while not over.is_set():
            with contextlib.suppress(SystemError):  # what CPython 3.11 and 3.12 make of it, which catad must not show
                ast.parse(TEXT)

    threads = [threading.Thread(target=other) for _ in range(2)]
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(callback)
    gc.set_threshold(50)
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(100):
            assert len(parsed(TEXT).body) == 100
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
        sys.setswitchinterval(interval)
        gc.set_threshold(*before)
        gc.callbacks.remove(callback)
