"""What callers hand in and get out: arrays, trees of arrays, and functions with what they read."""
