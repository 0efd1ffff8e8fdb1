"""What `catad.torch` uses of PyTorch, over arrays of the fake CuPy; `backward` is called in a new thread, as PyTorch does."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, NamedTuple


class Device(NamedTuple):
    """As `torch.device`."""

    type: str
    index: int


class Tensor:
    """An array of the fake CuPy; `grad` is what `backward` finds."""

    grad: Any = None
    made: Any = None

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        self.array, self.requires_grad = array, requires_grad
        self.device, self.shape = Device("cuda", array.device.id), array.shape
        self.dtype = SimpleNamespace(is_floating_point=array.dtype.kind == "f")

    def is_floating_point(self) -> bool:
        return bool(self.dtype.is_floating_point)

    def detach(self) -> Tensor:
        return self

    contiguous = detach

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def backward(self, cotangent: Tensor) -> None:
        """Set `grad` of the arguments of the function that made this tensor, which has one result."""
        function, ctx, args = self.made
        found = list[Any]()

        def run() -> None:
            try:
                found.append(function.backward(ctx, cotangent))
            except BaseException as error:
                found.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(timeout=60)
        if isinstance(found[0], BaseException):
            raise found[0]
        for arg, grad in zip(args, found[0], strict=True):
            if grad is not None:
                arg.grad = grad


class Function:
    """As `torch.autograd.Function`."""

    @classmethod
    def apply(cls: Any, *args: Any) -> Any:
        needed = tuple([isinstance(arg, Tensor) and arg.requires_grad for arg in args])
        ctx = SimpleNamespace(needs_input_grad=needed, mark_non_differentiable=lambda *_: None)
        outs = cls.forward(ctx, *args)
        for out in outs:
            out.made = cls, ctx, args
        return outs


def torch_of(stream: int) -> Any:
    """The module, whose current stream is this one."""
    return SimpleNamespace(
        Tensor=Tensor,
        autograd=SimpleNamespace(Function=Function),
        cuda=SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=stream)),
        from_dlpack=Tensor,
        is_grad_enabled=lambda: False,
    )
