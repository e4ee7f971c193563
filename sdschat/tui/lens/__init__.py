"""The Lens: what the protocol is doing, for who asks. Every view is a function from what is known to lines."""
