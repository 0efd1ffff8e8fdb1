"""LLVM text of what happens at one index, for every machine."""
