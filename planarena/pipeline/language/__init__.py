"""Phase 2: queries, plans, answers and wrong choices for the tasks that were proven."""
