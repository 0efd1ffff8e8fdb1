"""LLVM's part in every machine: text of LLVM IR is parsed, verified, optimised and handed on, by one thread at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Protocol

from catad import errors

# LLVM's own state is global in places (its command line, its registries), and llvmlite locks single calls only: one thread
# at a time compiles. `cpu/run/target.py` holds the lock over a fork, so that no child starts from a half-way state.
lock = threading.RLock()


class Target(Protocol):
    """A machine that LLVM knows: llvmlite's binding, its triple and data layout, and the options of the pipeline by level."""

    binding: Any
    layout: str
    tunings: dict[int, Any]
    passes: dict[int, tuple[str, ...]]  # by level: those that run, where it is not LLVM's own pipeline of that level

    @property
    def triple(self) -> str: ...

    def generator(self, level: int) -> Any:
        """The target machine for a level."""


def with_module(text: str, target: Callable[[], Target], use: Callable[[Any, Any], Any], level: int) -> Any:
    """`use(target, module)` of the optimised module, which is parsed in a context of its own and freed with all that it made.

    Raises `EngineError` where LLVM refuses the text, which is saved to a file that the message names.
    """
    stage = "parse"
    with lock:
        llvm = target()
        context = llvm.binding.create_context()
        module = None
        try:
            module = llvm.binding.parse_assembly(text, context)
            module.triple, module.data_layout = llvm.triple, llvm.layout
            stage = "verify"
            module.verify()
            stage = "optimise"
            _optimise(llvm, module, level)
            stage = "generate code for"
            return use(llvm, module)
        except (RuntimeError, UnicodeError) as error:
            raise errors.EngineError(errors.llvm_failed(stage, str(error), saved(text))) from error
        finally:
            if module is not None:
                module.close()
            context.close()


def _optimise(llvm: Target, module: Any, level: int) -> None:
    builder = llvm.binding.create_pass_builder(llvm.generator(level), llvm.tunings[level])
    if level in llvm.passes:
        passes = llvm.binding.create_new_module_pass_manager()
        for name in llvm.passes[level]:
            getattr(passes, f"add_{name}_pass")()
    else:
        passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        # llvmlite (0.44 to 0.50) finds an empty `_dispose` first in the order of the base classes and frees nothing: 75 kB a
        # program. Detached afterwards, so that a version that does free it cannot do so twice.
        llvm.binding.newpassmanagers.NewPassManager._dispose(passes)
        passes.detach()
        builder.close()


def saved(text: str | Callable[[], str]) -> str:
    """Write the text to a file in the temporary folder that stays there; its name."""
    import tempfile  # late: it loads ten modules

    text = text if isinstance(text, str) else text()
    try:
        handle, name = tempfile.mkstemp(prefix="catad-", suffix=".ll")
        with os.fdopen(handle, "w") as file:
            file.write(text)
    except OSError as error:
        return f"no file: {error}"
    return name
