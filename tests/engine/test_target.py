"""Compiling: values, sharing, what is freed, what the disk may hold, forks and threads, and what LLVM refuses."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import weakref

import pytest

import catad as ct
from catad.engine.cpu.run import objects, target
from catad.errors.notices import forget
from catad.support.lru import Recent

from .compiling import F64, assembly, cache, call, counts, half, script, unload

__all__ = ["cache", "counts"]  # fixtures

pytestmark = [
    pytest.mark.skipif(not target.available(), reason="no llvmlite here"),
    pytest.mark.usefixtures("cache"),
    pytest.mark.full_code,
]
placed = pytest.mark.skipif(not objects.placeable(), reason="objects are loaded by LLVM here")


EVERYTHING = """
@table = private unnamed_addr constant [3 x ptr] [ptr @next, ptr @times, ptr @outside]
@numbers = private unnamed_addr constant [4 x double] [double 1.0, double 2.0, double 4.0, double 8.0]
@third = global ptr getelementptr (double, ptr @numbers, i64 2)
@state = internal global i64 5
@zeros = global [100 x i64] zeroinitializer
declare double @lgamma(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define double @next(double %x) noinline { %y = fadd double %x, 1.0 ret double %y }
define double @times(double %x) noinline { %y = fmul double %x, 3.5 ret double %y }
define double @outside(double %x) noinline { %y = call double @lgamma(double %x) ret double %y }
define double @pick(i64 %k, double %x) {
  %p = getelementptr ptr, ptr @table, i64 %k
  %f = load ptr, ptr %p
  %y = call double %f(double %x)
  %q = getelementptr double, ptr @numbers, i64 %k
  %n = load double, ptr %q
  %r = fmul double %y, %n
  ret double %r
}
define double @inside() {
  %p = load volatile ptr, ptr @third
  %x = load double, ptr %p
  ret double %x
}
define i64 @count() {
  %s = load i64, ptr @state
  %t = add i64 %s, 1
  store i64 %t, ptr @state
  %p = getelementptr i64, ptr @zeros, i64 %t
  %z = load i64, ptr %p
  store i64 %t, ptr %p
  %r = add i64 %z, %t
  ret i64 %r
}
define void @copy(ptr %d, ptr %s, i64 %n) { call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr %s, i64 %n, i1 false) ret void }
define i64 @jump(i64 %k, ptr %p) {
entry:
  switch i64 %k, label %no [ i64 0, label %l0 i64 1, label %l1 i64 2, label %l2 i64 3, label %l3 i64 4, label %l4 ]
l0: store volatile i64 7, ptr %p
  br label %no
l1: store volatile i16 2, ptr %p
  br label %no
l2: store volatile i8 9, ptr %p
  br label %no
l3: store volatile i32 11, ptr %p
  br label %no
l4: store volatile i64 13, ptr %p
  br label %no
no: %r = load volatile i64, ptr %p
  ret i64 %r
}
"""


@pytest.fixture(params=["placed", "linked"])
def loader(request, monkeypatch):
    """Both ways to bring object code into memory: our own, and LLVM's."""
    if request.param == "linked":
        monkeypatch.setattr(objects, "placeable", lambda: False)
    elif not objects.placeable():
        pytest.skip("objects are loaded by LLVM here")
    unload()
    yield
    unload()


def test_loaders_place_every_kind_of_section_and_relocation(loader, monkeypatch) -> None:
    monkeypatch.setenv("CATAD_CACHE_DIR", "")
    module = target.compiled(EVERYTHING, ["pick", "inside", "count", "copy", "jump"])
    pick = ctypes.CFUNCTYPE(F64, ctypes.c_int64, F64)(module.address("pick"))
    assert [pick(k, 3.0) for k in range(3)] == [4.0, 21.0, 4 * 0.6931471805599453]
    assert call(module, "inside") == 4.0
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(module.address("count"))
    assert [count() for _ in range(3)] == [6, 7, 8]
    source, sink = ctypes.create_string_buffer(b"0123456789" * 50), ctypes.create_string_buffer(500)
    copy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(module.address("copy"))
    copy(sink, source, 499)
    assert sink.value == source.value[:499]
    number = ctypes.c_int64(0)
    jump = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(module.address("jump"))
    assert [jump(k, ctypes.addressof(number)) for k in (0, 1, 2, 3, 4, 5)] == [7, 2, 9, 11, 13, 13]


def test_loaded_code_differs_from_module_to_module(loader) -> None:
    modules = [target.compiled(half(float(k)), ["half"]) for k in range(5)]
    assert [call(m, "half", 3.0) for m in modules] == [3.0 * k for k in range(5)]


def test_calls_of_what_is_not_there(loader, capfd) -> None:
    text = half().replace("fmul double %x, 0.5", "call double @no_such_function(double %x)")
    text = f"declare double @no_such_function(double)\n{text}"
    with pytest.raises(ct.EngineError) as caught:
        target.compiled(text, ["half"])
    said = str(caught.value)
    assert saved_text(caught) == text and "no_such_function" in said + capfd.readouterr().err


def test_names_that_the_text_does_not_define(loader) -> None:
    with pytest.raises(ct.EngineError, match="third"):
        target.compiled(half(), ["half", "third"])


@placed
def test_what_the_own_loader_does_not_know_is_left_to_llvm(monkeypatch) -> None:
    """Data of another library; `environ` is a pointer variable of the C library."""
    text = "@environ = external global ptr\ndefine ptr @get() { %p = load ptr, ptr @environ ret ptr %p }"
    monkeypatch.setenv("CATAD_CACHE_DIR", "")

    def refuse(code: bytes) -> objects.Placed:
        raise objects.Unplaceable("for the test")

    expected = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value
    for place in (objects.place, refuse):
        monkeypatch.setattr(objects, "place", place)
        unload()
        module = target.compiled(text, ["get"])
        assert ctypes.CFUNCTYPE(ctypes.c_void_p)(module.address("get"))() == expected


@placed
def test_what_is_no_object_is_not_placed() -> None:
    whole = target._object(half())
    objects.place(whole)
    for junk in (b"", b"junk" * 100, whole[:6] + bytes(300), whole[:-100], whole[:18] + b"\x03\x00" + whole[20:]):
        with pytest.raises(objects.Unplaceable):
            objects.place(junk)


def test_the_same_text_is_the_same_module(cache, counts) -> None:
    unload()
    first = target.compiled(half(), ["half"])
    assert target.compiled(half(), ["half"]) is first
    assert target.compiled(half(0.25), ["half"]) is not first
    assert counts == {"compiled": 2, "reused": 1}
    assert "half" in repr(first) and first.origin == "compiled" and first.seconds > 0


def test_modules_that_nobody_holds_are_freed(cache) -> None:
    unload()
    module = target.compiled(half(), ["half"])
    ref = weakref.ref(module)
    unload()
    assert ref() is module  # held here
    del module
    gc.collect()
    assert ref() is None


@placed
@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no list of mappings")
def test_freed_code_leaves_the_address_space() -> None:
    def mapped(address: int) -> bool:
        with open("/proc/self/maps") as file:
            ranges = [[int(part, 16) for part in line.split()[0].split("-")] + [line.split()[1]] for line in file]
        return any(start <= address < stop and mode == "r-xp" for start, stop, mode in ranges)

    code = target._object(EVERYTHING)
    loaded = objects.place(code)
    address = loaded.address("pick")
    assert mapped(address)
    del loaded
    gc.collect()
    assert not mapped(address)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no count of pages")
def test_many_programs_in_bounded_memory(cache, counts, monkeypatch) -> None:
    """The pass manager that llvmlite forgets to free took 75 kB a program."""

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    monkeypatch.setattr(target, "_recent", Recent(8))
    unload()
    held = len(target._modules)  # by programs of other tests
    sizes = []
    for k in range(150):
        assert call(target.compiled(half(k + 0.125), ["half"]), "half", 2.0) == 2 * k + 0.25
        if k in (49, 149):
            gc.collect()
            sizes.append(resident())
    assert counts == {"compiled": 150} and len(target._modules) <= held + 16
    assert sizes[1] - sizes[0] < 100 * 25_000


# ---- threads and forks ---------------------------------------------------------------------------------------------------


def test_threads_compile_a_program_once(cache, counts) -> None:
    unload()
    together, found = threading.Barrier(8), []

    def work(k: int) -> None:
        together.wait(60)
        found.append(target.compiled(half(), ["half"]))
        assert call(target.compiled(half(float(k)), ["half"]), "half", 2.0) == 2.0 * k
        found.append(k)

    workers = [threading.Thread(target=work, args=(k + 2,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    modules = [m for m in found if isinstance(m, target.Module)]
    assert len(modules) == 8 and len(set(map(id, modules))) == 1 and len(found) == 16
    assert counts == {"compiled": 9, "reused": 7}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_while_another_thread_compiles(tmp_path) -> None:
    said = script(
        tmp_path,
        f"""
        import ctypes, os, threading
        from catad.engine.cpu.run import target
        text = {half()!r}
        def value(k):
            module = target.compiled(text.replace("0.5", f"{{k}}.0"), ["half"])
            return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(module.address("half"))(2.0)
        before = value(1000)
        stop = threading.Event()
        def work():
            k = 0
            while not stop.is_set():
                k += 1
                value(k)
        busy = threading.Thread(target=work)
        busy.start()
        for turn in range(5):
            child = os.fork()
            if child == 0:
                assert value(1000) == 2000.0 and value(2000 + turn) == 4000.0 + 2 * turn
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        stop.set(); busy.join()
        print("done")
        """,
    )
    assert said.strip() == "done"


# ---- what LLVM refuses, and what comes out -------------------------------------------------------------------------------


def saved_text(caught: pytest.ExceptionInfo) -> str:
    """The content of the file that a message names; the file is removed."""
    name = next(word for word in str(caught.value).split() if word.endswith(".ll"))
    try:
        with open(name) as file:
            return file.read()
    finally:
        os.unlink(name)


@pytest.mark.parametrize(
    "text, stage, said",
    [
        ("define double @half(double %x) { nonsense }", "parse", "expected instruction opcode"),
        ("define double @half(double %x) { ret float 1.0 }", "parse", "doesn't match function result type"),
        ("define i32 @half() {\na:\n  br label %a\nb:\n  %y = phi i32 [ 0, %b ]\n  ret i32 %y\n}", "verify", "PHINode"),
    ],
)
def test_what_llvm_refuses_is_saved(text: str, stage: str, said: str) -> None:
    with pytest.raises(ct.EngineError, match=f"LLVM could not {stage} a program") as caught:
        target.compiled(text, ["half"])
    assert said in str(caught.value) and saved_text(caught) == text


def test_loops_become_vector_loops() -> None:
    text = """
    define void @sum(ptr noalias %x, ptr noalias %y, i64 %n) {
    entry: br label %loop
    loop:
      %i = phi i64 [0, %entry], [%j, %loop]
      %p = getelementptr float, ptr %x, i64 %i
      %a = load float, ptr %p
      %b = fmul float %a, %a
      %q = getelementptr float, ptr %y, i64 %i
      store float %b, ptr %q
      %j = add i64 %i, 1
      %c = icmp slt i64 %j, %n
      br i1 %c, label %loop, label %done
    done: ret void
    }
    """
    assert "sum:" in assembly(text) and "mulps" in assembly(text)


def test_a_missing_llvm_is_said_once(monkeypatch) -> None:
    def broken() -> target.Host:
        raise OSError("libllvmlite.so: cannot open shared object file")

    monkeypatch.setattr(target, "host", broken)
    target.missing.cache_clear()
    try:
        with pytest.warns(ct.CatadNotice, match=r"(?s)reference engine runs instead.*cannot open shared object") as seen:
            assert not target.available() and not target.available()
        assert len(seen) == 1
    finally:
        target.missing.cache_clear()
        forget("no llvm")
