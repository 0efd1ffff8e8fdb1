"""What to write instead of functions that have no meaning for traced arrays: by name, or by the name of a module."""

from catad.traced.table import HINTS

_LINALG = "the eigenvalues of symmetric matrices are there, np.linalg.eigh and eigvalsh; for others, ct.D with a derivative"
_RANDOM = "draw the random numbers outside, and pass them as an argument"

HINTS |= {
    "np": "write it with other functions of NumPy, or as ct.D with its derivative; docs/functions.md lists what is known",
    "np.linalg": _LINALG,
    "np.fft": "Fourier transforms with complex results give pairs: re, im = ct.fft.rfft()(x), and ct.fft.irfft()(re, im) back",
    "np.random": _RANDOM,
    "np.polyfit": "solve the linear least squares problem with fixed points: np.linalg.pinv(np.vander(x, n)) @ y with constant x",
    "np.roots": "its numbers are complex; find one root with a loop of Newton's steps",
    "np.polyadd": "pad the coefficients with np.pad and add them",
    "np.polysub": "pad the coefficients with np.pad and subtract them",
    "np.polymul": "np.convolve of the coefficients",
    "np.polydiv": "write the division as a loop",
    "np.polyder": "p[:-1] * np.arange(len(p) - 1, 0, -1)",
    "np.polyint": "np.append(p / np.arange(len(p), 0, -1), 0)",
    "np.histogram2d": "np.histogram of the flat position, or np.add.at into an array of bins",
    "np.histogramdd": "np.histogram of the flat position, or np.add.at into an array of bins",
    "np.i0": "it has no derivative here: write the series, or pass a ct.D",
    "np.gcd": "compute it outside: it has no derivative",
    "np.lcm": "compute it outside: it has no derivative",
    "np.nextafter": "it has no derivative: add a multiple of np.finfo(x.dtype).eps",
    "np.spacing": "it has no derivative: use np.finfo(x.dtype).eps * abs(x)",
    "np.bitwise_count": "sum the bits: ((x[..., None] >> np.arange(64)) & 1).sum(-1)",
    "np.packbits": "weights of powers of two: bits @ (1 << np.arange(8)[::-1])",
    "np.unpackbits": "(x[..., None] >> np.arange(8)[::-1]) & 1",
    "np.apply_over_axes": "call the reduction with several axes and keepdims=True",
    "np.nditer": "loop over the indices, for i in range(n)",
    "np.frompyfunc": "np.vectorize, or ct.map of a function of numbers",
    "np.sort_complex": "complex numbers are not sorted: sort the real parts",
    "np.may_share_memory": "stand-ins have no memory; ask outside",
    "np.shares_memory": "stand-ins have no memory; ask outside",
    "np.require": "np.asarray(x, dtype)",
    "np.einsum_path": "np.einsum orders its products itself",
    "np.isfortran": "stand-ins have no order in memory",
    "np.strings": "arrays of strings are not supported: encode them as integers outside",
    "np.char": "arrays of strings are not supported: encode them as integers outside",
    "np.ma": "masked arrays are not supported: np.where(mask, x, 0), and reductions with where=mask",
    "np.matlib": "np.matrix is not supported: arrays with @",
    "np.emath": "its results are complex where numbers are out of range; use np.sqrt, np.log, ... with np.where",
    "np.datetime_as_string": "datetimes are not supported: convert them to numbers of seconds outside",
    "x.view": "bits are not reinterpreted: x.astype(dtype) converts the numbers, x[...] is a view",
    "x.tobytes": "bytes are not known while the function is traced; convert the result outside",
    "x.byteswap": "bits are not reinterpreted",
    "x.resize": "np.resize(x, shape), or np.pad",
    "x.setflags": "stand-ins have no flags; a copy, x.copy(), can be written into",
    "x.flags": "stand-ins have no memory layout",
    "x.strides": "stand-ins have no memory layout; use slices and np.reshape",
    "x.data": "stand-ins have no memory; use slices",
    "x.ctypes": "stand-ins have no memory; compiled code is called through a ct.D with its derivative",
    "x.getfield": "arrays with fields are not supported: an array for each field, in a dict",
    "x.setfield": "arrays with fields are not supported: an array for each field, in a dict",
    "scipy": "write it with functions of NumPy, or as ct.D with its derivative",
}
for _said, _names in (
    ("print outside: the numbers are not known while the function is traced", "np.array2string np.array_repr np.array_str"),
    ("save the result of the function outside", "np.save np.savez np.savetxt x.tofile x.dump x.dumps"),
):
    HINTS |= dict.fromkeys(_names.split(), _said)
