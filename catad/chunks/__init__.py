"""Programs over arrays that are cut into chunks: the tasks of a call, and what runs them."""
