"""PTX without a GPU: what is shown, that nothing in it rounds otherwise than the CPU, and where it is kept."""

from __future__ import annotations

import re

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import kernel, launch, target
from catad.engine.cuda.device import GPU
from catad.engine.cuda.steps import steps
from catad.errors import notices

from .test_lanes import LINES
from .test_maps import MAPS

CELL = ct.map(lambda x, y: np.exp(x) * y)
SPACES = ct.f32[1000], ct.f32[1000]
UNROUNDED = re.compile(
    r"\b(?:add|sub|mul|div|rcp|sqrt|fma|mad)\.(?!rn\.)(?:\w+\.)*f(?:32|64)|\.(?:ftz|approx|sat)\.|\bmad\.f"
)


def spaces(x: tuple[object, ...]) -> ct.Space:
    return ct.space_of(x if len(x) > 1 else x[0])


@pytest.mark.parametrize("name", MAPS)
def test_every_operation_rounds_as_the_cpu_does(name: str) -> None:
    f, x = MAPS[name]
    text = f.source("ptx", spaces(x))
    assert text.count(".visible .entry kernel(") == text.count("; stage")
    assert not UNROUNDED.search(text)
    names = re.findall(r"\.(?:func|entry)[^(]*\([^)]*\)\s*(\w[\w.$]*)", text)
    assert all("." not in name for name in names)


def test_what_the_pattern_finds() -> None:
    for line in ("add.f32 %f1", "mul.ftz.f32", "fma.f32 %r", "sqrt.approx.f32", "div.full.f32", "add.rz.f64", "mad.f32"):
        assert UNROUNDED.search(line), line
    for line in ("add.rn.f32", "fma.rn.f64", "div.rn.f32", "add.s64", "mul.wide.u32", "cvt.rn.f32.s32", "setp.gt.f32"):
        assert not UNROUNDED.search(line), line


def test_reads_and_writes_of_16_bytes() -> None:
    text = CELL.source("ptx", *SPACES)
    assert text.count("ld.global.nc.v4") == 2 and text.count("st.global.v4") == 1
    assert "ld.global.nc.v2" in ct.map(lambda x: x * x).source("ptx", ct.f64[10])
    assert ".maxntid 256" in text and ".version 8.0" in text and ".target sm_80" in text


def test_compiling_ahead_for_an_engine() -> None:
    before = target.counts["compiled"] + target.counts["loaded"]
    f = ct.map(lambda x: x * 1.2345)
    assert ct.compile(f, ct.f32[100], engine="cuda") is f
    assert target.counts["compiled"] + target.counts["loaded"] == before + 1
    with ct.use_engine("cuda"):
        assert ct.compile(f, ct.f32[100]) is f and f.source("ptx", ct.f32[100]) == f.source("ptx", ct.f32[7])
    with pytest.raises(ct.EngineError, match="'cuda'"):
        ct.compile(f, ct.f32[100], engine="no such engine")
    with pytest.raises(ct.ArgumentError, match="'llvm', 'ptx', 'steps'"):
        f.source("cuda c", ct.f32[100])


def test_ptx_is_found_on_disk(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CATAD_CACHE_DIR", str(tmp_path))
    fresh = type(target.counts)()
    monkeypatch.setattr(target, "counts", fresh)
    f = ct.map(lambda x: x * 2.71)
    texts = []
    for _ in range(3):
        kernel._codes.clear()
        texts.append(_shown(f))
        target.forget()
    assert fresh["compiled"] == 1 and fresh["loaded"] == 2 and len(set(texts)) == 1


def _shown(f: ct.D) -> str:
    (step, *_), *_ = steps(ct.wire(f, ct.f64[50]), GPU)
    return step.prepared()


def test_what_has_no_kernel_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    notices.forget()
    monkeypatch.setattr(launch, "LONGEST", 10)
    f = LINES["products of matrices"]
    with pytest.warns(
        ct.CatadNotice, match="a scan or recurrence along a long line, whose operator is long, on a GPU"
    ) as seen:
        assert f.source("ptx", ct.f64[5000]) == "" and f.source("ptx", ct.f64[6000]) == ""
    assert len(seen) == 1
    notices.forget()


def test_folds_by_bin_have_kernels_or_are_sorted(recwarn: pytest.WarningsRecorder) -> None:
    text = ct.histogram(ct.add, 0.0, 5).source("ptx", ct.i64[50] * ct.f64[50])
    assert "atom.shared.add.u64" in text and "atom.global.add.u64" in text and ".f64" in text
    assert "atom.shared" not in ct.histogram(ct.add, 0.0, 9000).source("ptx", ct.i64[9000] * ct.f64[9000])
    ct.histogram(lambda a, b: a * b, 1.0, 5).source("ptx", ct.i64[50] * ct.f64[50])
    assert not [one for one in recwarn if one.category is ct.CatadNotice]


def test_arrays_of_numpy_run_on_their_array_code() -> None:
    with ct.use_engine("cuda"):
        assert CELL(np.zeros(3), np.ones(3)).tolist() == [1, 1, 1]


def test_architectures() -> None:
    assert target.ARCHITECTURES == ("sm_70", "sm_80", "sm_90") and target.DEFAULT in target.ARCHITECTURES
    for architecture in target.ARCHITECTURES:
        made = target.ptx(
            "define ptx_kernel void @k(ptr %p) { store float 1.0, ptr %p ret void }", architecture=architecture
        )
        assert f".target {architecture}" in made.text


def test_what_llvm_refuses_is_an_error_of_catad() -> None:
    with pytest.raises(ct.EngineError, match="LLVM could not parse"):
        target.ptx("define nonsense")
