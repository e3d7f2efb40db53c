"""Environment folders of users as sources: in the sandbox, or in process where they are trusted."""
