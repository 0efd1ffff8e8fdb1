"""Object code in memory, without LLVM: a linker and a loader of the few things that compiled kernels need.

Loading a kernel from the cache should not wait for a 170 MB library, and memory of code that nobody refers to should go back to
the system. Both are easy for position-independent ELF objects of x86-64 (System V ABI, AMD64 supplement, section 4.4): sections
are laid out one after another, relocations are sums of a symbol, an addend and the place, and calls of other libraries go
through a jump behind the code. In a new process with all kernels on disk, the first gradient takes 64 ms of the
processor with this loader and 97 ms with LLVM's (`examples/experiments/start_up.py`, medians of 15 processes each).

    S + A          R_X86_64_64                 S the symbol's address
    S + A - P      R_X86_64_PC32, PLT32, PC64  P the place that is patched, A the addend
    G + A - P      R_X86_64_GOTPCREL*          G a place that holds the address of the symbol

`placeable` says whether this platform is served; an object with anything else in it raises `Unplaceable`. Then LLVM's own
loader does the work (`target`).
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import platform
import struct
import sys
from functools import cache
from typing import NamedTuple

_PAGE = mmap.PAGESIZE
_ALLOC, _WRITE = 2, 1  # section flags SHF_ALLOC, SHF_WRITE
_PROGBITS, _SYMTAB, _RELA, _NOBITS, _UNWIND = 1, 2, 4, 8, 0x70000001  # section types
_R_64, _R_PC32, _R_PLT32, _R_GOTPCREL, _R_PC64, _R_GOTPCRELX, _R_REX_GOTPCRELX = 1, 2, 4, 9, 24, 41, 42
_GOT = (_R_GOTPCREL, _R_GOTPCRELX, _R_REX_GOTPCRELX)
_JUMP = b"\xff\x25\xf2\xff\xff\xff"  # jmp through the eight bytes before it
_ADDRESS, _DISTANCE = struct.Struct("<Q"), struct.Struct("<i")
_ENTRY = 16  # bytes of the table of symbols: an address, the jump there, at 8, and two of padding


class Unplaceable(Exception):
    """An object with something in it that only a full linker can place."""


class MissingSymbols(Exception):
    """`names`: functions that compiled code calls, and no library of this process has."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


class Placed:
    """Code in executable memory. `address(name)` is valid for as long as this object lives; then the memory is freed."""

    __slots__ = ("_addresses", "_memory", "size")

    def __init__(self, memory: mmap.mmap, addresses: dict[str, int]) -> None:
        self._memory = memory  # unmapped when the last reference to it goes
        self._addresses = addresses
        self.size = len(memory)

    def address(self, name: str) -> int:
        return self._addresses[name]

    def data(self, name: str) -> int | None:
        return self._addresses.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._addresses)


def placeable() -> bool:
    """True where objects can be placed here: ELF on x86-64, in a system that lets a program execute what it wrote."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64" and sys.maxsize > 2**32


def executable_memory() -> bool:
    """True where the system lets this process write code and run it (policies such as SELinux's may not).

    >>> executable_memory()
    True
    """
    try:
        memory = _fresh(_PAGE)
        _protect(memory, _PAGE)
    except (OSError, ValueError):
        return False
    return True


def place(code: bytes) -> Placed:
    """Place an ELF object for x86-64 in executable memory.

    Raises `Unplaceable` for what this loader does not know, `MissingSymbols` for calls of what the process does not have.
    """
    try:
        return _place(code)
    except (struct.error, IndexError, KeyError, ValueError, OverflowError) as error:
        raise Unplaceable(f"no ELF object: {error!r}") from error


def _place(code: bytes) -> Placed:
    sections = _sections(code)
    symbols = _symbols(code, sections)
    relocations = _relocations(code, sections)
    entries = {k: _ENTRY * n for n, k in enumerate(_listed(relocations, symbols))}
    starts, fixed, total = _layout(sections, _ENTRY * len(entries))
    table = fixed - _ENTRY * len(entries)
    targets = _resolved([symbols[k].name for k in entries if not symbols[k].section])

    memory = _fresh(max(total, _PAGE))
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for k, start in starts.items():
        if sections[k].kind != _NOBITS:
            memory[start : start + sections[k].size] = code[sections[k].offset : sections[k].offset + sections[k].size]

    @cache
    def value(k: int) -> int:
        """The address of a symbol: in this object, or in the libraries of the process."""
        name, section, offset = symbols[k]
        return base + starts[section] + offset if section else targets[name]

    for k, entry in entries.items():
        memory[table + entry : table + entry + 14] = _ADDRESS.pack(value(k)) + _JUMP
    for section, offset, kind, symbol, addend in relocations:
        at = starts[section] + offset
        if kind == _R_64:
            _ADDRESS.pack_into(memory, at, (value(symbol) + addend) % 2**64)
        elif kind == _R_PC64:
            _ADDRESS.pack_into(memory, at, (value(symbol) + addend - base - at) % 2**64)
        else:
            if kind in _GOT:
                to = table + entries[symbol]
            elif symbols[symbol].section:
                to = value(symbol) - base
            else:
                to = table + entries[symbol] + 8
            _DISTANCE.pack_into(memory, at, to + addend - at)
    _protect(memory, fixed)
    return Placed(memory, {s.name: base + starts[s.section] + s.value for s in symbols if s.name and s.section in starts})


def _sections(code: bytes) -> list[_Section]:
    if code[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<HH", code, 16) != (1, 62):
        raise Unplaceable("no relocatable ELF object for x86-64")
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count, names = struct.unpack_from("<HHH", code, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    text = rows[names][4]
    return [_Section(_string(code, text + r[0]), r[1], r[2], r[4], r[5], r[6], r[7], max(r[8], 1)) for r in rows]


def _string(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode() if 0 <= at < len(code) else ""


def _kept(section: _Section) -> bool:
    """True where a section is part of the program; tables for unwinding are not: nothing is thrown through a kernel."""
    return bool(section.flags & _ALLOC and section.size) and section.kind != _UNWIND and section.name != ".eh_frame"


def _symbols(code: bytes, sections: list[_Section]) -> list[_Symbol]:
    found = []
    for table in sections:
        if table.kind == _SYMTAB:
            text = sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, 24):
                name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, at)
                found.append(_Symbol(_string(code, text + name) if name else "", section, value))
    return found


def _relocations(code: bytes, sections: list[_Section]) -> list[tuple[int, int, int, int, int]]:
    """(section, offset in it, kind, symbol, addend) of each place to patch in the sections that are kept."""
    known = {_R_64, _R_PC32, _R_PLT32, _R_PC64, *_GOT}
    found = []
    for table in sections:
        if table.kind == _RELA and _kept(sections[table.info]):
            for offset, info, addend in struct.iter_unpack("<QQq", code[table.offset : table.offset + table.size]):
                if info & 0xFFFFFFFF not in known:
                    raise Unplaceable(f"a relocation of kind {info & 0xFFFFFFFF}")
                found.append((table.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
    return found


def _listed(relocations: list[tuple[int, int, int, int, int]], symbols: list[_Symbol]) -> list[int]:
    """The symbols whose address is looked up: they are in other libraries, or their address is read."""
    found = []
    for kind, symbol in dict.fromkeys((kind, symbol) for _, _, kind, symbol, _ in relocations):
        elsewhere = symbols[symbol].section == 0
        if symbols[symbol].section >= 0xFF00 or (elsewhere and not symbols[symbol].name):
            raise Unplaceable("an absolute or common symbol")
        if elsewhere and kind in (_R_PC32, _R_PC64):
            raise Unplaceable("data of another library")
        if elsewhere or kind in _GOT:
            found.append(symbol)
    return [*dict.fromkeys(found)]


def _layout(sections: list[_Section], table: int) -> tuple[dict[int, int], int, int]:
    """The start of each section; the end of the fixed part (its last `table` bytes are free); the size of all."""
    starts: dict[int, int] = {}
    at = 0
    for writable in (False, True):
        for k, section in enumerate(sections):
            if _kept(section) and bool(section.flags & _WRITE) == writable:
                if section.kind not in (_PROGBITS, _NOBITS):
                    raise Unplaceable(f"a section of kind {section.kind}")
                at = -(-at // section.align) * section.align
                starts[k] = at
                at += section.size
        if not writable:
            at = fixed = -(-at // 16) * 16 + table
            if any(_kept(section) and section.flags & _WRITE for section in sections):
                at = -(-at // _PAGE) * _PAGE
    return starts, fixed, at


def _resolved(names: list[str]) -> dict[str, int]:
    """The addresses of functions in the libraries of this process."""
    found, missing = {}, []
    for name in names:
        for library in _libraries():
            function = getattr(library, name, None)
            if function is not None:
                found[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
                break
        else:
            missing.append(name)
    if missing:
        raise MissingSymbols(missing)
    return found


_opened: list[ctypes.CDLL] = []


def _libraries() -> list[ctypes.CDLL]:
    """The libraries of this process, and that of mathematical functions, which a static Python need not have loaded."""
    if not _opened:
        libraries = [ctypes.CDLL(None)]
        with contextlib.suppress(OSError):
            libraries.append(ctypes.CDLL("libm.so.6"))
        _opened[:] = libraries
    return _opened


def _fresh(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _protect(memory: mmap.mmap, size: int) -> None:
    """Make the first `size` bytes executable, and read-only: no page is ever both writable and executable."""
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = _libraries()[0].mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(base, -(-size // _PAGE) * _PAGE, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError("the system does not let this process execute code that it wrote")
