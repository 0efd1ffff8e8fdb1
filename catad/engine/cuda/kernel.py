"""Kernels of a GPU, made once in a process, and what a device must have to run them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakValueDictionary

from catad.engine.cache_keys import key_of
from catad.engine.cuda import target
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.target import Ptx

Strides = Sequence[tuple[int, ...]]
FOLDERS = ("engine/cuda",)  # the files that decide about a text


class Printer(Protocol):
    """Writes a module with one kernel, in the words of a machine; a block has so many threads."""

    threads: int

    def __init__(self, what: Any, words: type[Simt]) -> None: ...

    def text(self) -> str: ...


class Code:
    """A kernel: its LLVM text in the words of a machine, and its PTX."""

    def __init__(self, printer: type[Printer], what: Any, words: type[Simt]) -> None:
        self.printer, self.what, self.words = printer, what, words

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.printer.threads

    @cached_property
    def llvm(self) -> str:
        """The LLVM text; raises CannotPrint for what has none."""
        return self.printer(self.what, self.words).text()

    @cached_property
    def ptx(self) -> Ptx:
        """The PTX, found on disk without printing where it is there."""
        return self.ptx_for(target.DEFAULT)

    def ptx_for(self, architecture: str) -> Ptx:
        """The PTX for an architecture of `target.ARCHITECTURES`."""
        return target.ptx(lambda: self.printer(self.what, Simt).text(), self.key, architecture)

    @property
    def text(self) -> str:
        """The text of the PTX."""
        return self.ptx.text

    @property
    def seconds(self) -> float:
        """The time that compiling took."""
        return self.ptx.seconds

    @cached_property
    def key(self) -> str | None:
        """What only this kernel has; None where there is no key."""
        return key_of(self.printer, self.what, FOLDERS)


_codes: WeakValueDictionary[Any, Code] = WeakValueDictionary()  # for as long as somebody holds it


def code_of(printer: type[Printer], what: Any, words: type[Simt]) -> Code:
    """The kernel of what a printer writes, made once in a process."""
    found = _codes.get((printer, what, words))
    if found is None:
        found = _codes[printer, what, words] = Code(printer, what, words)
    return found


class Part(Protocol):
    """A part of compiled code: its PTX, and the seconds that compiling took, which happens when either is asked for."""

    @property
    def text(self) -> str: ...

    @property
    def seconds(self) -> float: ...


class Way(Part, Protocol):
    """Compiled code for arrays that lie in memory in some way."""

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None: ...


def start(device: Device, code: Code, units: int, numbers: array[int], arrays: Sequence[Any]) -> None:
    """Start a kernel that has so many units of work, one for a thread, unless there is none."""
    if units:
        blocks = min(-(-units // code.threads), device.most)
        device.launch(code, blocks, numbers, [device.address(one) for one in arrays])


class Launched:
    """Compiled code that starts kernels; `parts` are these."""

    parts: Sequence[Part] = ()

    @property
    def text(self) -> str:
        """The PTX of all."""
        return "".join([part.text for part in self.parts])

    @property
    def seconds(self) -> float:
        """The time that compiling took."""
        return sum([part.seconds for part in self.parts])


class Compiled:
    """Compiled code of a box that no stage contains, as a callable on an array library and arrays; `parts` are its kernels."""

    parts: Sequence[Part] = ()

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling each part took, as far as they were needed."""
        return tuple([part.seconds for part in self.parts])

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        raise NotImplementedError

    def prepared(self) -> str | None:
        """Compile for contiguous arrays; the PTX, or None where it has none."""
        return "".join([part.text for part in self.parts])

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes that a call with these arguments and results reads and writes."""
        return sum({id(a): a.nbytes for a in (*arrays, *outs)}.values())


def contiguous(array: Any) -> Any:
    """The array with its numbers in order, of any array library."""
    return array if array.flags.c_contiguous else array.copy()


class Device(Protocol):
    """What runs kernels: a GPU, or what stands for one.

    `dialect` are the words in which kernels are printed for it; `most` is the number of blocks of a launch beyond which each
    thread takes several units of work.
    """

    most: int

    @property
    def dialect(self) -> type[Simt]: ...

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array whose numbers are not set yet."""
        ...

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays as kernels expect them, in the memory of the device."""
        ...

    def address(self, array: Any) -> int:
        """Where the first number of an array lies."""
        ...

    def launch(self, code: Code, blocks: int, numbers: array[int], addresses: Sequence[int], shared: int = 0) -> None:
        """Start a kernel on its table of numbers and on arrays at these addresses, after all that was started before.

        The threads of a block share so many bytes of memory, besides what the text of the kernel asks for.
        """
        ...

    def words(self, values: Sequence[int]) -> Any:
        """An array of integers of 64 bits on the device that holds these."""
        ...

    def zeros(self, count: int) -> Any:
        """An array of so many integers of 64 bits on the device, all 0 when the next kernel starts."""
        ...

    def after(self, words: Any, look: Callable[[Sequence[int]], None]) -> None:
        """Have `look` see what kernels have written into words, now or when the host next waits for them; it may raise."""
        ...

    def copy_bandwidth(self) -> float:
        """Bytes per second, read and written, of copying a large array."""
        ...

    def clock(self) -> Callable[[], float]:
        """Start a clock of the device: a call of it waits for the kernels that were started since, and gives their seconds."""
        ...
