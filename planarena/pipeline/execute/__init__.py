"""Phase 1: scenarios drawn, composed, executed and proven."""
