"""A differential fuzzer: programs drawn from the whole vocabulary, checked against oracles that share no code with catad.

`draw_program(seed, number)` draws a program together with its meaning, written in plain loops and array functions; `run` checks
values, tangents, cotangents, Jacobians and Hessians of one program after another, on both engines, for one and two threads,
at sizes on both sides of every switch, for odd memory layouts and special values. The oracles are the meaning, central
differences (L. Richardson 1911), pushed basis vectors, and JAX where it is installed. From the shell:

    python -m catad.testing.drawn --seconds 600 --seed 1

With `--functions` it draws plain Python functions on arrays instead, as text. NumPy, which runs the same text, and differences of
its results are the oracles, on every engine. `draw_function` draws one, `run_functions` runs them. What fails is made short, and
printed as a script.

The idea of checking a compiler on drawn programs against a second meaning is that of X. Yang, Y. Chen, E. Eide and J. Regehr,
*Finding and Understanding Bugs in C Compilers*, 2011.
"""

from catad.testing.drawn.functions import DrawnFunction, draw_function, run_functions
from catad.testing.drawn.programs import Program, draw_program
from catad.testing.drawn.running import Failure, Tally
from catad.testing.drawn.runs import failures_of, run

__all__ = [
    "DrawnFunction",
    "Failure",
    "Program",
    "Tally",
    "draw_function",
    "draw_program",
    "failures_of",
    "run",
    "run_functions",
]
