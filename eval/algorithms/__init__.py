"""`planarena bench algorithms`: many algorithms from one start, compared with intervals."""
