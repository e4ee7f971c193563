"""The protocol steps of the spec, one module a part, each step a function under the spec's name."""
