"""Resources only: wording, seeds, locks."""
