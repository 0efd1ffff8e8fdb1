"""The processor: LLVM, machine code, threads, BLAS."""
