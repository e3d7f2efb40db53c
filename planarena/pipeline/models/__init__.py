"""Phase 3, where models take part: words and proposals of models for the tasks that are kept."""
