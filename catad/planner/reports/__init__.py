"""Plans for people and for files: texts, tables, pictures, JSON."""
