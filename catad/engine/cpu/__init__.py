"""The engine of the CPU: programs compiled with LLVM."""
