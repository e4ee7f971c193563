"""Spark sessions, wherever Spark runs. Only this package builds a session."""

from sdschat.pipeline.session.spark_target import SparkTarget
from sdschat.pipeline.session.start import spark

__all__ = ["SparkTarget", "spark"]
