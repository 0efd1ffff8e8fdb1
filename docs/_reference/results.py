"""What functions give that has methods of its own, though its class is no public name: shown on the pages of these functions."""

from __future__ import annotations

from typing import NamedTuple


class Given(NamedTuple):
    """A class, and the members that its users call."""

    path: str
    members: tuple[str, ...]


def _given(path: str, members: str) -> Given:
    return Given(path, tuple(members.split()))


RESULTS = {
    "function": (
        _given("catad.traced.function.Function", "at constants spaces draw source plan_chunks"),
        _given("catad.traced.programs.program.Program", "lines inputs draw point_free source"),
    ),
    "vjp": (_given("catad.jacobians.pullback.Pullback", "many persist"),),
    "profile": (_given("catad.engine.profile.Profile", "stages table to_json"),),
    "kernel": (
        _given("catad.simt.kernel.Kernel", "forall"),
        _given("catad.simt.kernel.Launch", "explain"),
    ),
}
OF_TERMS = ("data", "lasting", "held_bytes", "known_dom", "known_cod", "lay_out", "code", "recipe")
"""Methods of `ct.D` by which catad asks a term what it is; users call none of them."""
