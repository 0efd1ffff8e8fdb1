"""A GPU in software: kernels of the engine for GPUs run on the processor, thread by thread, in an order that a seed draws.

The text of a kernel is that of the GPU, but for the words of `catad.engine.cuda.intrinsics`: here each thread is a coroutine of
LLVM that stops where it waits for others (`words.py`), and a scheduler (`schedule.py`) resumes warps in a random order. It finds
barriers that not all threads of a block meet, warps that part at a shuffle, kernels that wait for ever, results that depend on
the order of threads, and reads of memory that nobody has set. It does not see missing fences: memory is that of one processor.
"""

from catad.testing.emulator.device import EmulatedGpu as EmulatedGpu
