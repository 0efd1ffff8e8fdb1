"""Pictures: string diagrams of terms and programs, and patterns of linear maps."""
