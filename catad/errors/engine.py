"""Messages of the engines."""

from __future__ import annotations

from collections.abc import Sequence

from catad.errors.base import abbreviated, text
from catad.errors.places import called, shown

NO_KERNEL = "the CUDA engine has no kernel for it yet"


def no_llvm(why: str) -> str:
    return text(
        "the compiled engine is not available; the reference engine runs instead",
        given=why,
        expected="llvmlite, and a system that lets programs write code and run it",
        do='install llvmlite, or say `ct.use_engine("reference")` to choose the reference engine',
    )


def unknown_setting(variable: str, said: str, words: Sequence[str]) -> str:
    return text(
        f"the environment variable {variable} has an unknown value",
        given=repr(said),
        expected=" or ".join(map(repr, words)),
        do="unset it, or set it to one of these before the program runs",
    )


def no_gpu(why: str) -> str:
    return text(
        'the engine "cuda" finds no GPU to run on; arrays of CuPy run on their array code, as far as there are any',
        given=why,
        expected="a GPU of NVIDIA, driver 525 or newer, and a CuPy that imports and finds them",
        do='`python -c "import cupy; cupy.show_config()"` tells what CuPy finds; `f.source("ptx", ...)` needs no GPU',
    )


def needs_cupy(thing: object, why: BaseException) -> str:
    return text(
        "an array in the memory of a GPU needs CuPy",
        given=f"an array of type {type(thing).__module__}.{type(thing).__name__}; `import cupy` says {type(why).__name__}: {why}",
        do='pip install "catad[cuda12]", or "catad[cuda13]" where `nvidia-smi` shows CUDA 13; or copy the array to NumPy',
    )


def lacks_library(said: str) -> str:
    return text(
        "CuPy lacks a library of CUDA that its array code needs",
        given=" ".join(said.split()),
        expected="NVRTC for most array code, cuBLAS for products of matrices",
        do="pip install 'cuda-toolkit[cudart,nvrtc,cublas]==12.*' (13.* beside the wheel cupy-cuda13x)",
    )


def needs_library(what: str, package: str, install: str) -> str:
    return text(f"{what} needs the library {package}, which cannot be imported", do=f"pip install {install}")


def array_code_runs(construct: str, why: str, boxes: str) -> str:
    place = shown(called())
    said = text(f"no machine code for {construct}: the array code runs", given=why, where=f"the boxes {boxes}")
    return said if place is None else f"{said}\n  called:   {place}"


def tensors_apart(devices: Sequence[object]) -> str:
    return text(
        "tensors of several devices met in one call",
        given=", ".join(map(str, devices)),
        expected="all tensors on one device",
        do="move them, x.to(device)",
    )


def no_plain_array(given: object, reason: object) -> str:
    return text(
        "what another library gave is no plain array of numbers",
        given=f"{abbreviated(given)}: {reason}",
        expected="float32, float64, bool or integers, laid out in strides in memory",
        do="convert it first, e.g. x.to_dense() or x.float() of PyTorch",
    )


def complex_between_libraries(given: object) -> str:
    return text(
        "a function of another library has no complex results",
        given=abbreviated(given),
        expected="real arrays",
        do="return y.real and y.imag, and put them together in the other library",
    )


def second_derivative_in_torch(term: object) -> str:
    return text(
        "second derivatives are not recorded by PyTorch",
        given="create_graph=True, or a backward pass inside of another",
        where=abbreviated(term),
        do="give PyTorch the first derivative as a function, catad.torch.as_function(ct.grad(f))",
    )


def jax_has_32_bits(space: object) -> str:
    return text(
        "a result has 64 bits, while JAX is set to 32",
        given=space,
        do='jax.config.update("jax_enable_x64", True) before the first array is made, or convert it, ct.astype(np.float32)',
    )


def old_driver(version: int) -> str:
    return text(
        "the driver of the GPU is too old for compiled kernels; arrays of CuPy run on their array code",
        given=f"a driver for CUDA {version // 1000}.{version % 1000 // 10}",
        expected="driver 525 (CUDA 12.0) or newer",
        do="install a newer driver of NVIDIA",
    )


def old_gpu(number: int, capability: int) -> str:
    return text(
        "this GPU is too old for compiled kernels; arrays of CuPy run on their array code",
        given=f"device {number}, of compute capability {capability // 10}.{capability % 10}",
        expected="compute capability 7.0 (Volta) or more",
        do="choose another GPU, `with cupy.cuda.Device(n):`",
    )


def gpu_failed(what: str, said: str) -> str:
    return text(
        "the driver of the GPU refused a compiled kernel, or one before it has failed",
        given=said.strip() or "(the driver gave no reason)",
        where=f"the kernel {what}",
        do='run with `ct.use_engine("reference")`, and report what this error says',
    )


def not_current_device(number: int, current: int) -> str:
    return text(
        "an array lies on another GPU than the current one",
        given=f"an array on device {number}, while device {current} is current",
        expected="arrays of the current device",
        do=f"call it under `with cupy.cuda.Device({number}):`",
    )


def llvm_failed(stage: str, said: str, saved: str) -> str:
    return text(
        f"LLVM could not {stage} a program",
        given=said.strip() or "(LLVM gave no reason)",
        where=f"the IR is in {saved}",
        do='run with `ct.use_engine("reference")`, and report the saved file',
    )


def unknown_symbol(names: object, saved: str) -> str:
    return text(
        "compiled code calls functions that this process does not have",
        given=abbreviated(names),
        expected="functions of the C library, or of its mathematical part",
        where=f"the IR is in {saved}",
        do='run with `ct.use_engine("reference")`, and report the saved file',
    )


def undefined_functions(names: object, defined: object) -> str:
    return text(
        "compiled code lacks functions of its program",
        given=f"a program that calls {abbreviated(names)}",
        expected=f"some of {abbreviated(defined)}",
        do="remove the folder of the cache, in case the code in it is damaged",
    )


def out_of_memory(said: str) -> str:
    return text(
        "an array does not fit into memory",
        given=said.strip() or "(NumPy gave no size)",
        do="take fewer numbers at once; where a derivative keeps coefficients of each step of a loop, `memory=` of `ct.iterate` "
        "keeps so many states and takes steps again, and `ct.checkpoint` around a part of a program keeps its argument only",
    )


def bad_thread_count(value: object) -> str:
    return text("the number of threads is not valid", given=abbreviated(value), expected="a whole number, at least 1")


def bad_thread_variable(value: str) -> str:
    return text(
        "CATAD_NUM_THREADS is not a valid number of threads",
        given=repr(value),
        expected="a whole number, at least 1; OMP_NUM_THREADS or the number of processors is used instead",
    )


def shared_cache_folder(place: str, owner: int, mode: int) -> str:
    return text(
        "other users may write to the folder of the cache; compiled code is neither read from it nor kept in it",
        given=f"{place}, of user {owner}, with the mode {mode & 0o7777:o}",
        expected="a folder of your own to which nobody else may write",
        do="`chmod go-w` it where it is yours, or name another folder in CATAD_CACHE_DIR",
    )


def profile_in_use() -> str:
    return text("this profile is being recorded already", do="open another one: `with ct.profile() as p:`")


def no_engine(given: object, missing: Sequence[str]) -> str:
    return text(
        "this is not an engine",
        given=abbreviated(given),
        expected=f"an object that has {', '.join(missing)} as well",
        do="derive its class from `ct.engine.Engine`, which has defaults for the rest",
    )


def engine_is_a_class(given: type) -> str:
    return text(
        "an engine is an object, not a class",
        given=f"the class {given.__name__}",
        do=f"make one: ct.engine.register({given.__name__}())",
    )


def reserved_engine(name: object) -> str:
    expected = "a string that is not the name of an engine of catad"
    return text("an engine cannot have this name", given=abbreviated(name), expected=expected)


def waits_while_captured(what: str) -> str:
    return text(
        "the host cannot wait for the GPU while a stream is captured in a graph",
        given=what,
        expected="a program whose steps do not depend on numbers",
        do="call it once before the capture; a loop of a fixed number of steps, `ct.iterate`, can be captured",
    )
