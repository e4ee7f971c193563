"""The Lens: the state of the protocol, in views. Every view is a pure function that returns lines."""
