"""Phase 4: what is kept, and its rows in every table."""
