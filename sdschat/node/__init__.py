"""The node: connects protocol, store, transport, keys and clock on one event loop, and emits events for interfaces."""
