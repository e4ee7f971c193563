"""The contents of the files of vectors: values, and the bytes that the plain code makes of them."""
