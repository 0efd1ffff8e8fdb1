"""Python functions rewritten, so that their control flow asks the trace."""
