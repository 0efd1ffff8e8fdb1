"""Bugs that the suite must catch, planted one by one in a copy of the checkout: `python -m tests.planted`."""
