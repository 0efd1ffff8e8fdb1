"""What every room uses: names that are loaded at their first use, bounded caches, orders, help of values."""
