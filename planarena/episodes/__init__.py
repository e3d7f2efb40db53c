"""The only loop that acts in an environment, and the only goal check."""
