"""What functions of NumPy, `math`, SciPy and Python mean for stand-ins: one table a topic, which `traced/table.py` loads."""
