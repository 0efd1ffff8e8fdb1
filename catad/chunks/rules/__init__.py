"""What each box does on arrays in blocks: one file for each kind of boxes, entered into the table of `table.py`."""
