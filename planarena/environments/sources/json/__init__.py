"""Lists of tools that nothing here can execute: a model makes up their results."""
