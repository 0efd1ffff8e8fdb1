"""The families of structured linear maps, and the rules of their products."""
