"""The families of the package, and the table of their products. Its rules are those of the modules `*_rules`."""

from __future__ import annotations

from typing import Any

from catad.linear.families import block_rules, clear_rules, inverse_rules, plain_rules  # noqa: F401  (they register themselves)
from catad.linear.families.block import Block, Chain, Sum
from catad.linear.families.clear import Clear, ClearAt, ClearWhere
from catad.linear.families.delta import Delta
from catad.linear.families.fourier import Fourier
from catad.linear.families.gather import Gather, ScatterAdd
from catad.linear.families.inverse import Inverse
from catad.linear.families.matrix_free import Batched, MatrixFree
from catad.linear.families.patterned import Patterned
from catad.linear.families.recurrence import Recurrence
from catad.linear.families.reindex import Reindex, Reshape
from catad.linear.network import Network
from catad.linear.products import RULES, table

FAMILIES: tuple[type[Any], ...] = (  # `Zero` absorbs all others, without a rule
    Delta, Reindex, Reshape, Gather, ScatterAdd, Recurrence, Block, Sum, Chain, Network, MatrixFree, Batched, Clear, ClearAt,
    ClearWhere, Fourier, Inverse, Patterned,
)  # fmt: skip
TABLE = table(FAMILIES, RULES)
