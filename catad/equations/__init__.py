"""Functions that an equation gives: roots, fixed points, optima, solutions of differential equations."""
