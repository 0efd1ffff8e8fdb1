"""The stand-ins for arrays while a function is traced, and their arithmetic."""
