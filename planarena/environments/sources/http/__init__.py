"""HTTP services as sources: real calls to allowed hosts."""
