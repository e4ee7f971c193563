"""The canonical log for reading: sorted by position and by id, read without a JVM."""
