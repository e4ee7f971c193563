"""Four participants on one screen, with the links between them to cut and mend."""
