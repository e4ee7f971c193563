"""The tables of the lake, in layers from raw to refined. `sdschat.audit.schemas` has them all."""
