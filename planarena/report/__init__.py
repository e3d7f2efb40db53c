"""Static HTML reports."""
