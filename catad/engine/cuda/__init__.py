"""The engine for NVIDIA's GPUs."""
