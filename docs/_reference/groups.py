"""The groups of the reference: every public name is in one of them, in the order in which their pages list it."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """A page of the reference: its file name, title and introduction, and the names, without `catad.`."""

    slug: str
    title: str
    about: str
    names: tuple[str, ...]


def _group(slug: str, title: str, about: str, names: str) -> Group:
    return Group(slug, title, about, tuple(names.split()))


GROUPS = (
    _group(
        "derivatives",
        "Derivatives",
        "Gradients, Jacobians, Hessians, and derivatives in a direction, of morphisms and of plain Python functions.",
        """
        grad value_and_grad jacobian hessian jacfwd jacrev jvp vjp linearize hvp stop_gradient checkpoint
        differential reverse_differential tangent tangent_space
        """,
    ),
    _group(
        "programs",
        "Functions and programs",
        "How a Python function becomes a program that can be differentiated, and how one finds out what it does.",
        "function vmap map D wire debug_nans debug_print progress unrolled",
    ),
    _group(
        "composition",
        "Composition",
        "How functions are composed, and the functions that pass values on, copy, drop and rearrange them.",
        "compose fork cross id dup exl exr proj swap assoc_l assoc_r it const lift times",
    ),
    _group(
        "spaces",
        "Spaces and dtypes",
        "A space is the type of a value: the shape and the dtype of an array, or a product of such.",
        "Space Tensor Product Unit product space_of f32 f64 c64 c128 bool_ i8 i16 i32 i64 u8 u16 u32 u64 astype",
    ),
    _group(
        "arithmetic",
        "Arithmetic",
        "Arithmetic entry by entry, with the broadcasting and the dtypes of NumPy.",
        """
        add sub subtract mul multiply div divide floordiv mod remainder fmod neg negative reciprocal fma pow power square sqrt
        cbrt abs absolute sign copysign clip maximum minimum fmax fmin rint round floor ceil trunc ldexp
        """,
    ),
    _group(
        "functions",
        "Mathematical functions",
        "Exponentials, logarithms, trigonometric and special functions, entry by entry.",
        """
        exp exp2 expm1 log log2 log10 log1p logaddexp sin cos tan asin arcsin acos arccos atan arctan atan2 arctan2 hypot
        sinh cosh tanh asinh arcsinh acosh arccosh atanh arctanh sech degrees radians erf erfc gamma lgamma digamma trigamma
        sigmoid softplus relu
        """,
    ),
    _group(
        "logic",
        "Comparison and logic",
        "Comparisons, truth values, and the choice between numbers, entry by entry.",
        "eq ne lt le gt ge where logical_and logical_or logical_not isfinite isinf isnan signbit",
    ),
    _group(
        "reductions",
        "Reductions",
        "Numbers that sum up an array, or some of its axes.",
        "sum prod mean var std max min argmax argmin any all norm logsumexp softmax",
    ),
    _group(
        "scans",
        "Folds, scans and histograms",
        "Reductions, prefixes and histograms by any associative operator, also by segments, with their exact derivatives.",
        "fold scan cumsum cumprod recurrence segmented_fold segmented_scan histogram reduce_by_index monoid Monoid",
    ),
    _group(
        "products",
        "Products of arrays",
        "Matrix products, and sums of products by subscripts.",
        "matmul dot outer einsum",
    ),
    _group(
        "shapes",
        "Shapes and axes",
        "Functions that arrange the entries of arrays in another way, and copy them.",
        """
        reshape transpose moveaxis expand_dims squeeze broadcast_to replicate repeat tile concatenate stack split unstack flip
        roll pad diff stencil
        """,
    ),
    _group(
        "indexing",
        "Indexing, sorting and searching",
        "Reading and writing parts of arrays, by slices and by arrays of indices, and the order of entries.",
        "index at arg slice take gather scatter scatter_add sort argsort searchsorted iota generate",
    ),
    _group(
        "control",
        "Loops and branches",
        "Loops and branches of programs; a Python function that `ct.function` reads has those of Python.",
        "iterate sweep while_loop choose",
    ),
    _group(
        "equations",
        "Equations, minima and integrals",
        "Solutions of equations, which have the derivatives of the implicit function theorem.",
        "root fixed_point minimize least_squares implicit odeint quad cubic_spline",
    ),
    _group(
        "linalg",
        "Linear algebra",
        "Linear systems and decompositions, with the names of `numpy.linalg` and `scipy.linalg`.",
        """
        linalg linalg.solve linalg.inv linalg.det linalg.slogdet linalg.lstsq linalg.pinv linalg.matrix_power linalg.matrix_rank
        linalg.norm linalg.cond linalg.cholesky linalg.qr linalg.lu linalg.lu_factor linalg.lu_solve linalg.eigh linalg.eigvalsh
        linalg.eig linalg.eigvals linalg.svd linalg.svdvals linalg.expm linalg.solve_tridiagonal linalg.solve_banded
        linalg.solveh_banded linalg.solve_toeplitz linalg.solve_circulant
        """,
    ),
    _group(
        "fft",
        "Fourier transforms",
        "Fourier, cosine and sine transforms, with the names of `numpy.fft` and `scipy.fft`.",
        """
        fft fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfft2 fft.irfft2 fft.rfftn fft.irfftn
        fft.hfft fft.ihfft fft.hfft2 fft.ihfft2 fft.hfftn fft.ihfftn fft.dct fft.idct fft.dctn fft.idctn fft.dst fft.idst fft.dstn
        fft.idstn fft.fftconvolve fft.fftfreq fft.rfftfreq fft.fftshift fft.ifftshift
        """,
    ),
    _group(
        "linear",
        "Structured linear maps",
        "Linear maps that keep their structure: what a Jacobian is. They are applied, transposed, multiplied, added and solved.",
        """
        linear LinearMap linear.LinearMap linear.identity linear.zero scale linear.scale linear.dense linear.sparse linear.outer
        linear.einsum linear.gather linear.scatter_add linear.recurrence linear.cumulative_sum linear.matrix_free linear.fork
        linear.join linear.cross linear.block inl inr jam linear.inverse linear.Solver compForward compReverse linear.Structure
        linear.family linear.product_rule linear.left linear.right
        """,
    ),
    _group(
        "planning",
        "Planning",
        "The order in which a Jacobian is computed: why it was chosen, what it costs, and how to choose another one.",
        "plan plan_chain plan_graph Plan Graph CostProfile count",
    ),
    _group(
        "engines",
        "Engines, compilation and threads",
        "What runs a program, when it is compiled, how long its steps take, and on how many threads.",
        """
        use_engine compile profile synchronize num_threads set_num_threads get_num_threads set_default_num_threads
        engine engine.Engine engine.register
        """,
    ),
    _group(
        "chunks",
        "Arrays larger than memory",
        "Settings of programs on arrays of Dask. `D.plan_chunks` says what a call does.",
        "chunking no_waiting",
    ),
    _group(
        "kernels",
        "Kernels",
        "Functions that many threads run, and their words, which are those of `numba.cuda`.",
        """
        kernel simt simt.grid simt.gridsize simt.threadIdx simt.blockIdx simt.blockDim simt.gridDim simt.laneid simt.warpsize
        simt.warpSize simt.syncthreads simt.syncwarp simt.shared simt.local simt.atomic simt.shfl_sync simt.shfl_up_sync
        simt.shfl_down_sync simt.shfl_xor_sync
        """,
    ),
    _group(
        "primitives",
        "New primitives",
        "Functions written outside of catad that programs can contain, with their derivatives.",
        """
        primitive primitive.function primitive.linear primitive.pointwise primitive.Primitive primitive.box primitive.Rule
        primitive.rule_from primitive.Builder primitive.Wire primitive.Wiring primitive.Box
        """,
    ),
    _group(
        "testing",
        "Testing",
        "Checks of derivatives, laws, linear maps and kernels, and strategies of Hypothesis that draw them.",
        """
        testing testing.check_grads testing.check_laws testing.check_function testing.check_linear_map testing.check_monoid
        testing.check_chunks testing.check_races testing.threads testing.in_chunks testing.LAWS testing.Law testing.spaces
        testing.points testing.terms testing.chains testing.linear_maps testing.matrices
        """,
    ),
    _group(
        "interop",
        "PyTorch and JAX",
        "Morphisms as functions of PyTorch and JAX, whose gradients catad computes. Import the modules first.",
        "torch.as_function jax.as_function",
    ),
    _group(
        "errors",
        "Errors",
        "Every error that catad raises is a `CatadError`, and each is also an error of Python or NumPy.",
        """
        CatadError SpaceError ArgumentError ScalarError NumberRangeError TraceError NonFiniteError MonoidError DerivativeError
        IndexRangeError DenseLimitError SolveError ConvergenceError PlanError DeviceError DepthError EngineError OutOfMemoryError
        ExtensionError LawError CatadNotice
        """,
    ),
)
