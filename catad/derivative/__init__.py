"""The derivative as a functor on terms, and gradients."""
