"""The canonical log for reading: sorted by place and by id, answered from without a JVM."""
