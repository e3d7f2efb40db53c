"""Tools: JSON Schema, semantic types, validation, signatures, importers."""
