"""Speed, always as a ratio to something measured in the same run."""
