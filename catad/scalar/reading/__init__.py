"""Python functions of numbers as graphs of expressions: from source, or from bytecode."""
