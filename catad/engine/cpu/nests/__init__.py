"""LLVM text of loop nests."""
