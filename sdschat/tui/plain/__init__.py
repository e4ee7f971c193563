"""The application without a screen."""
