"""The families of the package, and the table of their products. Its rules are those of the modules `*_rules`."""

from __future__ import annotations

from typing import Any

from catad.linear import block_rules, clear_rules, family_rules  # noqa: F401  (they register themselves in RULES)
from catad.linear.block import Block, Chain, Sum, Zero
from catad.linear.clear import Clear, ClearAt, ClearWhere
from catad.linear.delta import Delta
from catad.linear.either import Either
from catad.linear.gather import Gather, ScatterAdd
from catad.linear.matrix_free import Batched, MatrixFree
from catad.linear.network import Network
from catad.linear.products import RULES, table
from catad.linear.recurrence import Recurrence
from catad.linear.reindex import Reindex, Reshape
from catad.linear.sweep import SweepMap

FAMILIES: tuple[type[Any], ...] = (
    Zero, Delta, Reindex, Reshape, Gather, ScatterAdd, Recurrence, Block, Sum, Chain, Network, MatrixFree, Batched, SweepMap,
    Either, Clear, ClearAt, ClearWhere,
)  # fmt: skip
TABLE = table(FAMILIES, RULES)
