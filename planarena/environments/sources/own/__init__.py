"""Tools that nobody described for us: values that work, found by probing, and plain words made from their names."""
