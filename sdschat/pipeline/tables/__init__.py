"""The tables of the lake, by how far they are from what nodes wrote. `sdschat.pipeline.schemas` has them all."""
