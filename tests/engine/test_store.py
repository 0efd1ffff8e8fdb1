"""Compiled code on disk: what it saves, and what it may hold: damaged, foreign, other people's and old files."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from catad.engine import disk_cache
from catad.engine.cpu.run import objects, target
from catad.errors import CatadNotice, notices

from .compiling import cache, call, counts, half, script, unload

__all__ = ["cache", "counts"]  # fixtures

pytestmark = [
    pytest.mark.skipif(not target.available(), reason="no llvmlite here"),
    pytest.mark.usefixtures("cache"),
    pytest.mark.full_code,
]


def code_files(cache) -> list:
    return sorted(cache.glob("*.o"))


def test_the_disk_saves_compiling(cache, counts) -> None:
    unload()
    assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
    unload()
    module = target.compiled(half(), ["half"])
    assert call(module, "half", 3.0) == 1.5 and module.origin == "disk"
    assert counts == {"compiled": 1, "loaded": 1}
    assert len(code_files(cache)) == 1 and not list(cache.glob("new-*"))


DAMAGES = {
    "empty": lambda content: b"",
    "cut in the head": lambda content: content[:20],
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "a bit flipped": lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
    "another format": lambda content: b"catad code 0\n" + content[len(b"catad code 0\n") :],
    "zeroed": lambda content: bytes(len(content)),
    "zeroed behind its head": lambda content: content[:45] + bytes(len(content) - 45),
    "foreign": lambda content: b"#!/bin/sh\n" * 100,
}


@pytest.mark.quick(5)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_ignored_and_written_anew(cache, counts, damage: str) -> None:
    unload()
    target.compiled(half(), ["half"])
    (file,) = code_files(cache)
    content = file.read_bytes()
    file.write_bytes(DAMAGES[damage](content))
    unload()
    assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
    unload()
    assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
    assert counts == {"compiled": 2, "loaded": 1}
    assert code_files(cache) == [file] and file.read_bytes() == content


def test_files_that_were_exchanged_are_ignored_and_written_anew(cache, counts) -> None:
    """Both are whole, of this catad, of this processor, and define a function of the same name."""
    unload()
    for scale in (0.5, 0.25):
        target.compiled(half(scale), ["half"])
    one, other = code_files(cache)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    unload()
    assert [call(target.compiled(half(scale), ["half"]), "half", 3.0) for scale in (0.5, 0.25)] == [1.5, 0.75]
    assert counts == {"compiled": 4}
    assert (one.read_bytes(), other.read_bytes()) == (first, second)


@pytest.mark.parametrize("payload", [b"", b"no object at all", b"\x7fELF\x02\x01" + bytes(300)])
def test_whole_files_that_hold_something_else_are_written_anew(cache, counts, payload: bytes) -> None:
    unload()
    target.compiled(half(), ["half"])
    (file,) = code_files(cache)
    disk_cache.write(file.name, payload)
    unload()
    assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
    assert counts == {"compiled": 2} and disk_cache.read(file.name) != payload


@pytest.mark.skipif(sys.platform == "win32", reason="owners and modes")
def test_files_that_others_may_write_are_not_run(cache, counts) -> None:
    unload()
    target.compiled(half(), ["half"])
    (file,) = code_files(cache)
    file.chmod(0o666)
    unload()
    target.compiled(half(), ["half"])
    assert counts == {"compiled": 2} and file.stat().st_mode & 0o022 == 0
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        unload()
        target.compiled(half(), ["half"])
        assert counts == {"compiled": 3} and file.stat().st_uid == 0


@pytest.mark.skipif(sys.platform == "win32", reason="owners and modes")
def test_folders_that_others_may_write_to_are_not_used_and_one_notice_says_so(cache, counts) -> None:
    unload()
    target.compiled(half(), ["half"])
    assert cache.stat().st_mode & 0o077 == 0
    before = code_files(cache)
    for mode in (0o777, 0o770, 0o1777):
        notices.forget()
        cache.chmod(mode)
        unload()
        with pytest.warns(CatadNotice, match=f"(?s)other users may write.*mode {mode:o}.*CATAD_CACHE_DIR") as seen:
            assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
            assert call(target.compiled(half(0.25), ["half"]), "half", 3.0) == 0.75
        assert len(seen) == 1 and disk_cache.folder() is None and not disk_cache.write("new.o", b"")
    assert counts == {"compiled": 7} and code_files(cache) == before
    if os.geteuid() == 0:
        cache.chmod(0o700)
        os.chown(cache, 12345, 12345)
        notices.forget()
        with pytest.warns(CatadNotice, match="user 12345"):
            assert disk_cache.folder() is None
        os.chown(cache, 0, 0)
        assert disk_cache.folder() == str(cache)


def test_a_damaged_note_on_the_host(cache) -> None:
    found = target.host()
    (note,) = cache.glob("*.host")
    disk_cache.write(note.name, b"two\nlines")
    target.host.cache_clear()
    assert target.host() == found
    assert disk_cache.read(note.name) == "\n".join(found).encode()


def test_folders_that_cannot_be_used_are_no_error(tmp_path, counts, monkeypatch) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", ""):
        monkeypatch.setenv("CATAD_CACHE_DIR", str(folder))
        unload()
        assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
    assert counts == {"compiled": 3}
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_no_error(cache, counts, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    unload()
    assert call(target.compiled(half(), ["half"]), "half", 3.0) == 1.5
    assert counts == {"compiled": 1} and list(cache.iterdir()) == []


def test_the_key_holds_the_versions_and_the_options(cache, counts, monkeypatch) -> None:
    for module, name, value in [(target, "__version__", "0"), (target, "OPTIONS", "other"), (target, "host", None)]:
        unload()
        target.compiled(half(), ["half"])
        with monkeypatch.context() as patch:
            other = target.host()._replace(features="another processor")
            patch.setattr(module, name, value or (lambda other=other: other))
            unload()
            target.compiled(half(), ["half"])
    assert counts == {"compiled": 4, "loaded": 2}


def test_the_folder_is_where_the_platform_says(monkeypatch) -> None:
    monkeypatch.delenv("CATAD_CACHE_DIR", raising=False)
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", os.path.join(os.sep, "somewhere"))
        assert disk_cache.folder() == os.path.join(os.sep, "somewhere", "catad")
    monkeypatch.setenv("CATAD_CACHE_DIR", "here")
    assert disk_cache.folder() == "here"
    monkeypatch.setenv("CATAD_CACHE_DIR", "")
    assert disk_cache.folder() is None


def test_the_oldest_files_go_when_the_folder_is_full(cache) -> None:
    names = [f"{k}.o" for k in range(10)]
    for k, name in enumerate(names):
        assert disk_cache.write(name, bytes(1000))
        os.utime(cache / name, (1000 + k, 1000 + k))
    assert disk_cache.read("0.o") == bytes(1000)  # used now: the youngest
    size = (cache / "0.o").stat().st_size
    disk_cache.shrink(str(cache), 10 * size)
    assert len(list(cache.iterdir())) == 10
    profile = cache / "profile-cpu.json"
    profile.write_bytes(bytes(100))
    os.utime(profile, (1, 1))
    disk_cache.shrink(str(cache), 8 * size)
    assert sorted(p.name for p in cache.iterdir()) == ["0.o", *names[5:], "profile-cpu.json"]


def test_a_second_process_needs_no_llvm(tmp_path) -> None:
    program = f"""
        import ctypes, sys
        from catad.engine.cpu.run import target
        assert target.available()
        module = target.compiled({half()!r}, ["half"])
        print(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(module.address("half"))(3.0), end=" ")
        print(*target.counts, "llvmlite.binding" in sys.modules)
    """
    assert script(tmp_path, program).strip() == "1.5 compiled True"
    assert script(tmp_path, program).strip() == f"1.5 loaded {not objects.placeable()}"


def test_processes_that_write_at_once(tmp_path) -> None:
    program = f"""
        from catad.engine.cpu.run import target
        for k in range(20):
            target.compiled({half()!r}.replace("0.5", f"{{k}}.0"), ["half"])
    """
    env = {**os.environ, "CATAD_CACHE_DIR": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], env=env) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert len(list(tmp_path.glob("*.o"))) == 20 and not list(tmp_path.glob("new-*"))
