"""The category: spaces are its objects, terms its morphisms; boxes, wirings, and the texts of terms."""
