"""Spark sessions, wherever Spark runs. Only this package builds a session."""

from sdschat.pipeline.session.start import spark
from sdschat.pipeline.session.where import Where

__all__ = ["Where", "spark"]
