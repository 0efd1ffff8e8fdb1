"""Products with inverses and with patterned matrices: a dense map is solved for, or applied to, all its columns at once.

The result stores no more than the dense factor. With all other maps both stay chains, so that their numbers stay few.
"""

from __future__ import annotations

from catad.linear.families.delta import Delta
from catad.linear.families.inverse import Inverse
from catad.linear.families.patterned import Patterned
from catad.linear.families.plain_rules import push_columns
from catad.linear.products import flipped, rule

for _kind in (Inverse, Patterned):
    rule(Delta, _kind)(push_columns)
    rule(_kind, Delta)(flipped(push_columns))
