"""From what users call to terms: trees of arguments, functions within terms, and mapping over axes."""
