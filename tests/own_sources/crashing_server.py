"""An MCP server that cannot start."""
import sys

print("FATAL: the variable TODO_API_KEY is not set", file=sys.stderr)
sys.exit(3)
