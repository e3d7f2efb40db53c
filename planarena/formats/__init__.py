"""What a policy speaks: one parser and one renderer per format."""
