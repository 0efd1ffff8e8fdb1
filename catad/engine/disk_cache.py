"""Compiled code on disk: a folder of small files that any number of processes read and write.

A file is named by the key of what it holds; it starts with a magic word and a SHA-256 of its name and the rest. A file that
is truncated, changed, renamed, somebody else's or of another format counts as absent and is written anew. Files are written
beside their place and then moved over it, so that nobody ever reads half of one. No failure of the disk is an error of the
program: without a cache, programs are compiled again.

The folder is `CATAD_CACHE_DIR`, or the user's cache folder; an empty `CATAD_CACHE_DIR` switches the cache off. A folder that is
another user's, or that other users may write to, is not used: one notice says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys

from catad import errors
from catad.errors.notices import notice

_MAGIC = b"catad code 2\n"
_HEAD = len(_MAGIC) + 32
LIMIT = 256 * 2**20  # bytes: some 20,000 kernels
_BETWEEN = 64  # writes between two looks at the size of the folder
_BINARY = getattr(os, "O_BINARY", 0)
_writes = 0


def folder() -> str | None:
    """The folder of the cache (it need not exist yet), or None where the cache is off or the folder is not this user's alone."""
    place = _named()
    if place is None:
        return None
    try:
        status = os.stat(place)
    except OSError:
        return place
    if stat.S_ISDIR(status.st_mode) and not _trusted(status):
        notice(("cache folder", place), errors.shared_cache_folder(place, status.st_uid, status.st_mode))
        return None
    return place


def _named() -> str | None:
    """The folder that the environment names."""
    said = os.environ.get("CATAD_CACHE_DIR")
    if said is not None:
        return said or None
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        place = os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "catad", "Cache")
    elif sys.platform == "darwin":
        place = os.path.join(home, "Library", "Caches", "catad")
    else:
        place = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "catad")
    return place if os.path.isabs(place) else None  # no home: no cache


def read(name: str) -> bytes | None:
    """The payload that was written under this name, or None where there is none, or none that can be trusted."""
    place = folder()
    if place is None:
        return None
    try:
        with open(os.path.join(place, name), "rb") as file:
            if not _trusted(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    payload = content[_HEAD:]
    if content[:_HEAD] != _head(name, payload):
        return None
    with contextlib.suppress(OSError):
        os.utime(os.path.join(place, name))  # what is used is young: the oldest go first
    return payload


def write(name: str, payload: bytes) -> bool:
    """Write under this name, whole or not at all; whether it was written."""
    global _writes
    place = folder()
    if place is None:
        return False
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        beside = os.path.join(place, f"new-{os.getpid()}-{os.urandom(8).hex()}")
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600), "wb") as file:
                file.write(_head(name, payload) + payload)
            os.replace(beside, os.path.join(place, name))
        except BaseException:
            _remove(beside)
            raise
    except OSError:
        return False
    if _writes % _BETWEEN == 0:
        shrink(place, LIMIT)
    _writes += 1
    return True


def shrink(place: str, limit: int) -> None:
    """Remove the files that were not used for longest, until the rest is smaller than three quarters of `limit` bytes.

    Profiles of costs stay: measured anew, they would give other plans than before.
    """
    try:
        with os.scandir(place) as entries:
            code = [entry for entry in entries if entry.is_file() and not entry.name.endswith(".json")]
            files = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in code]
    except OSError:
        return
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    for _, size, path in sorted(files):
        if total <= limit * 3 // 4:
            return
        _remove(path)
        total -= size


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _head(name: str, payload: bytes) -> bytes:
    """The first bytes of a file of this name and payload. The hash is of both, so that files cannot stand for each other."""
    return _MAGIC + hashlib.sha256(b"\0".join((name.encode(), payload))).digest()


def _trusted(status: os.stat_result) -> bool:
    """True where a file or folder is this user's own, and nobody else can write to it: code of others is not run."""
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
