"""Human audit in Argilla."""
