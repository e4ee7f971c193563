"""The widgets: each draws one part of the model."""
