"""One file a format: what a recording is written as."""
