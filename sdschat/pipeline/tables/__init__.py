"""The tables of the lake, in layers from raw to refined. `sdschat.pipeline.schemas` has them all."""
