"""The scalar language: it reads Python functions of numbers, simplifies, types, differentiates and prints them.

>>> import numpy as np
>>> f = read(lambda x: x * x if x > 0 else 0.0)
>>> array_function(f)(np, np.array([-1.0, 3.0]))
(array([0., 9.]),)
>>> partials(f, [0])
((select(gt(x0, 0), add(x0, x0), 0.0),),)
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.errors import NeedsTree as NeedsTree
    from catad.scalar.derivative_rules import CHOICES as CHOICES
    from catad.scalar.derivative_rules import PARTIALS as PARTIALS
    from catad.scalar.dtypes import Type as Type
    from catad.scalar.dtypes import promote as promote
    from catad.scalar.dtypes import result_types as result_types
    from catad.scalar.duals import partials as partials
    from catad.scalar.duals import value_and_partials as value_and_partials
    from catad.scalar.ir import Function as Function
    from catad.scalar.ir import Loop as Loop
    from catad.scalar.ir import Node as Node
    from catad.scalar.ir import const as const
    from catad.scalar.ir import constant as constant
    from catad.scalar.ir import param as param
    from catad.scalar.ir import postorder as postorder
    from catad.scalar.ir import tree_of as tree_of
    from catad.scalar.ir import unflatten as unflatten
    from catad.scalar.ops import OPS as OPS
    from catad.scalar.printing.array_code import array_function as array_function
    from catad.scalar.printing.array_code import array_source as array_source
    from catad.scalar.printing.llvm import llvm_function as llvm_function
    from catad.scalar.reading.bytecode import refuse_kind as refuse_kind
    from catad.scalar.reading.loops import STOP_FLAG as STOP_FLAG
    from catad.scalar.reading.loops import pruned as pruned
    from catad.scalar.reading.read import read as read
    from catad.scalar.reading.signatures import arity_of as arity_of
    from catad.scalar.recognise import commutes as commutes
    from catad.scalar.recognise import recognise as recognise
    from catad.scalar.simplify import apply as apply
    from catad.scalar.simplify import cast as cast
    from catad.scalar.simplify import put as put
    from catad.scalar.simplify import substitute as substitute
    from catad.scalar.simplify import truth as truth
    from catad.scalar.single_function import dtypes_alone as dtypes_alone
    from catad.scalar.single_function import parameters as parameters
    from catad.scalar.single_function import types_alone as types_alone
    from catad.scalar.vocabulary import operations as operations
    from catad.scalar.vocabulary import vocabulary as vocabulary

first_use(__name__)
