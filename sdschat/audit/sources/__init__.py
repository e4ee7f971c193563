"""The databases of profiles, read by column where they are sound and row by row where they are not."""
