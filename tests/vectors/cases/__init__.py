"""What the files of vectors hold: values, and the bytes that the plain code makes of them."""
