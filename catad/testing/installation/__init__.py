"""The self-test of an installation: `python -m catad.testing`. It needs what catad needs, and no library for tests."""
