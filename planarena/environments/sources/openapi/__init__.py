"""OpenAPI descriptions as sources, executed by an emulator."""
