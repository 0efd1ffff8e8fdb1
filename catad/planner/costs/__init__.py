"""What plans cost: operations, seconds by a profile, and at other sizes."""
