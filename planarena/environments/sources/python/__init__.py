"""Python modules as sources: read, described and called inside the sandbox alone."""
