"""Programs that were traced: lines with variables, their texts, and their point-free form."""
