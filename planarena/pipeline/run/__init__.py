"""The build itself: the parent, its workers, the ledger, storage."""
