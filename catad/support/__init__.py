"""What every room uses: names that are loaded at their first use, the one way up, bounded caches, help of values."""
