"""Host functions of published cases: which kernels they launch, and with what.

An entry of `HOSTS` takes the arrays of its case by name and gives those that it changes; parameters with a leading underscore are
constants of the case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.simt.peer_block_kernels import (
    accumulate_then_scale,
    axpy,
    cross_site,
    histogram,
    pair_sums,
    pingpong,
    reverse_shared,
    shuffle_sum,
    stencil_global,
    transpose_square,
    tree_shared,
    zero_stride,
)
from tests.simt.peer_kernels import (
    add_in_place,
    added,
    affine,
    alias_and_branch,
    arc,
    assigned,
    atomics,
    bilinear,
    black_scholes,
    broadcast_read,
    chain_of_two,
    circuit_and,
    circuit_or,
    components,
    contraction,
    copied_first,
    device_in_place,
    device_local,
    device_nested,
    device_pointers,
    device_value,
    dot_atomic,
    doubled,
    dynamic_product,
    exclusive_sums,
    exp_sin,
    for_loop,
    increment,
    index_in_loop,
    index_reassigned,
    multiply_in_place,
    nested_for,
    nested_if,
    polynomial,
    prefix_sums,
    quadratic,
    reduce_add,
    reduce_by_key,
    reduce_max,
    reduce_min,
    reduce_product,
    row_squared,
    slot_allocation,
    square_first,
    squared,
    sum_grid_stride,
    sum_warp_stride,
    sums_by_key,
    transformed,
    weighted_here,
    weighted_there,
)


def _total(out: Any) -> Any:
    return {"out": out, "res": np.sum(out).reshape(1)}


def _launched(i: Any, j: Any, f: Any) -> Any:
    c = added[1, 700](np.zeros(500), np.full(500, 7.0), np.full(500, 9.0))
    s = np.sum(c)
    return {"f": s * i + 2.0 * s * j}


def _overwritten(a: Any, b: Any, c: Any, total: Any) -> Any:
    b = squared[1, 3](a, b)
    return {"b": b, "a": assigned[1, 3](c, a), "l": reduce_add[1, 3](b, total)}


def _self_assigned(src: Any, arr: Any, total: Any) -> Any:
    arr = increment[1, 3](assigned[1, 3](src, arr))
    return {"arr": arr, "l": reduce_add[1, 3](arr, total)}


def _slots(x: Any, o: Any) -> Any:
    return {"o": slot_allocation[1, 8](np.zeros(1, dtype=np.int64), x, o)[1]}


def _atomics(x: Any, c: Any, s1: Any, s2: Any) -> Any:
    return dict(zip(("c", "s1", "s2"), atomics[1, 32](x, c, s1, s2), strict=True))


def _two_kernels(x: Any, t: Any, o: Any) -> Any:
    t = squared[2, 3](x, t)
    return {"t": t, "o": pair_sums[3, 2](t, o)}


def _contracted(A: Any, B: Any, C: Any) -> Any:
    return {"C": contraction[1, 256](A, B, C)}


def _options(S: Any, X: Any, T: Any, call: Any, put: Any) -> Any:
    return dict(zip(("call", "put"), black_scholes[1, 128](S, X, T, call, put), strict=True))


def _assigned_twice(x: Any, y: Any, z: Any) -> Any:
    y = doubled[1, 3](x, y)
    return {"y": y, "z": assigned[1, 3](y, z)}


def _chained(x: Any, y: Any, z: Any) -> Any:
    return dict(zip(("y", "z"), chain_of_two[1, 3](x, y, z), strict=True))


def _transform(fn: Any) -> Any:
    launch = transformed(fn)[1, 4]
    return lambda x, w, y: {"y": launch(x, w, y)}


def _inner(fn: Any) -> Any:
    launch = transformed(fn)[1, 4]
    return lambda x, w, y: {"y": reduce_add[1, 4](launch(x, w, np.zeros(4)), y)}


def _negated(reduce: Any, sign: float, init: float) -> Any:
    launch = transformed(lambda x, w: sign * x)[1, 5]
    return lambda x, y: {"y": reduce[1, 5](launch(x, x, np.zeros(5)), np.full(1, init))}


def _product(init: float) -> Any:
    return lambda x, y: {"y": reduce_product[1, 1](x, np.full(1, init))}


CLAD: dict[str, Any] = {
    "square_inplace": lambda a: {"a": square_first[1, 1](a)},
    "sum_warp_stride": lambda out, given, N: {"out": sum_warp_stride[1, 5](out, given, N)},
    "sum_grid_stride": lambda out, given, N: {"out": sum_grid_stride[2, 1](out, given, N)},
    "broadcast_read": lambda a, b: {"a": broadcast_read[1, 5](a, b)},
    "device_call_global_ptr_wrt_val": lambda out, given, val: {"out": device_value[1, 10](out, given, val)},
    "device_call_ptr_args_all": lambda out, given, val: {"out": device_pointers[1, 10](out, given, val)},
    "device_call_local_copy": lambda out, given, val: {"out": device_local[1, 10](out, given, val)},
    "nested_device_calls": lambda out, given, val: {"out": device_nested[1, 10](out, given, val)},
    "host_fn_launches_kernel": lambda a, b: {"a": broadcast_read[1, 10](a, b)},
    "host_malloc_memcpy_launch": lambda out, given, res: _total(copied_first[1, 10](np.zeros(10), given)),
    "device_injective_index": lambda a: {"a": device_in_place[1, 1](a)},
    "index_reassigned": lambda a: {"a": index_reassigned[1, 1](a)},
    "index_reassigned_in_loop": lambda a: {"a": index_in_loop[1, 1](a)},
    "forward_mode_through_launch": _launched,
    "thrust_reduce_sum": lambda x, y: {"y": reduce_add[1, 4](x, np.zeros(1))},
    "thrust_reduce_max": lambda x, y: {"y": reduce_max[1, 4](x, np.zeros(1))},
    "thrust_reduce_product": _product(1.0),
    "thrust_reduce_product_one_zero": _product(1.0),
    "thrust_reduce_product_two_zeros": _product(1.0),
    "thrust_reduce_product_init_zero": _product(0.0),
    "thrust_inner_product_default": _inner(lambda x, w: x * w),
    "thrust_inner_product_plus_minus": _inner(lambda x, w: x - w),
    "thrust_inclusive_scan": lambda x, y: {"y": prefix_sums[1, 1](x, y)},
    "thrust_exclusive_scan": lambda x, y, init: {"y": exclusive_sums[1, 1](x, y, init)},
    "thrust_inclusive_scan_by_key": lambda x, y, _keys: {"y": sums_by_key[1, 1](_keys, x, y)},
    "thrust_reduce_by_key_group1": lambda x, y, _keys: {"y": reduce_by_key[1, 1](_keys, x, y)},
    "thrust_copy_result_iterator_kept": lambda x, y: {"y": assigned[1, 4](x, y)},
    "thrust_transform_negate": _transform(lambda x, w: -x),
    "thrust_transform_identity": _transform(lambda x, w: x),
    "thrust_transform_minus": _transform(lambda x, w: x - w),
    "thrust_transform_multiplies": _transform(lambda x, w: x * w),
    "thrust_transform_divides": _transform(lambda x, w: x / w),
    "functor_affine": lambda x, w, y, a, b: {"y": affine[1, 4](x, y, a, b)},
    "functor_bilinear": lambda x, w, y, a, b, c: {"y": bilinear[1, 4](x, w, y, a, b, c)},
    "functor_quadratic": lambda x, w, y, a, b: {"y": quadratic[1, 4](x, y, a, b)},
    "functor_exp_sin": lambda x, w, y, a, b, c: {"y": exp_sin[1, 4](x, w, y, a, b, c)},
    "thrust_transform_reduce_plus_negate": _negated(reduce_add, -1.0, 0.0),
    "thrust_transform_reduce_max_identity": _negated(reduce_max, 1.0, 0.0),
    "thrust_transform_reduce_min_negate": _negated(reduce_min, -1.0, 100.0),
    "demo_tensor_contraction": _contracted,
    "demo_black_scholes_call": _options,
}

WARP: dict[str, Any] = {
    "elementwise_polynomial": lambda x, y: {"y": polynomial[1, 3](x, y)},
    "device_assign_is_differentiable": _assigned_twice,
    "overwrite_between_launches": lambda a, b, c, l: _overwritten(a, b, c, l),  # noqa: E741
    "inplace_add": lambda a, b: {"a": add_in_place[1, 3](a, b)},
    "inplace_multiply": lambda a, b: {"a": multiply_in_place[1, 3](a, b)},
    "self_assignment": lambda src, arr, l: _self_assigned(src, arr, l),  # noqa: E741
    "mutation_after_forward": lambda x, y: {"y": squared[1, 1](x, y), "x": np.full(1, 100.0)},
    "dynamic_loop_product": lambda x, l: {"l": dynamic_product[1, 1](x, 3, l)},  # noqa: E741
    "weighted_mean_in_kernel": lambda x, w, l: {"l": weighted_here[1, 1](x, w, 3, l)},  # noqa: E741
    "weighted_mean_in_function": lambda x, w, l: {"l": weighted_there[1, 1](x, w, 3, l)},  # noqa: E741
    "atomic_slot_allocation": _slots,
    "gradient_inside_kernel_atan2": lambda y, x, o: {"o": arc[1, 3](y, x, o)},
    "for_loop": lambda x, s: {"s": for_loop[1, 1](x, 32, s)},
    "for_loop_nested_if": lambda x, s: {"s": nested_if[1, 1](x, 32, s)},
    "nested_for": lambda x, s: {"s": nested_for[1, 1](x, s)},
    "atomic_add_preserves_outputs": _atomics,
    "atomic_sub_preserves_outputs": _atomics,
    "local_alias_and_branch": lambda a, b: {"b": alias_and_branch[1, 3](a, b)},
    "vector_component_stores": lambda x, y: {"y": components[1, 3](x, y)},
    "slice_2d": lambda x, y: {"y": row_squared[1, 2](x, y)},
    "dot_product_atomic": lambda x, y, z: {"z": dot_atomic[1, 8](x, y, z)},
    "write_then_read_chain_seed_y": _chained,
    "atomic_max": lambda v, m: {"m": reduce_max[1, 5](v, m)},
    "short_circuit_and": lambda x, o, _flag: {"o": circuit_and[1, 4](_flag, x, o)},
    "short_circuit_or": lambda x, o, _flag: {"o": circuit_or[1, 4](_flag, x, o)},
}

SPMD: dict[str, Any] = {
    "shared_reverse_in_place": lambda d: {"d": reverse_shared[1, 8](d)},
    "shared_tree_reduction": lambda x, o: {"o": tree_shared[2, 8](x, o)},
    "stencil_3pt_global": lambda x, w, o: {"o": stencil_global[3, 4](x, w, o)},
    "cross_site_collision": lambda x, o: {"o": cross_site[4, 2](x, o)},
    "zero_stride_index": lambda x, o: {"o": zero_stride[2, 3](x, o)},
    "transpose_square": lambda x, o: {"o": transpose_square[(2, 2), (2, 2)](x, o)},
    "histogram_atomic_forward": lambda w, h, _bin: {"h": histogram[2, 4](_bin, w, h)},
    "accumulate_then_scale_global": lambda x, l: {"l": accumulate_then_scale[1, 1](x, l)},  # noqa: E741
    "shared_pingpong_time_steps": lambda x, k, o: {"o": pingpong[2, 6](x, k, o)},
    "lane_shuffle_down_sum": lambda x, o: {"o": shuffle_sum[2, 8](x, o)},
    "grid_stride_axpy": lambda a, x, y: {"y": axpy[2, 3](a, x, y)},
    "two_kernel_composition": _two_kernels,
}

_FAMILIES = {"clad": CLAD, "warp": WARP, "spmd": SPMD}
HOSTS = {f"{family}/{name}": host for family, table in _FAMILIES.items() for name, host in table.items()}
"""The host function of each case that has arrays."""
