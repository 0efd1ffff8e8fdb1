"""Mathematical functions in the scalar language itself, for the printers of machine code.

Each is one text for float32 and float64, branch-free (both sides are computed and chosen from), so that LLVM vectorises the loop
around it, and within 2 units in the last place over the whole range; for lgamma and digamma about their zeros on the negative
axis, and for polygamma, their files say what holds. Since they are scalar functions, the array printer runs them, too.
"""
