"""Getting a Spark session, wherever Spark is. The only place in the project that builds one."""

from sdschat.pipeline.session.start import spark
from sdschat.pipeline.session.where import Where

__all__ = ["Where", "spark"]
