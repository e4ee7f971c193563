"""Where protocol, store, transport, keys and clock meet: one event loop, and facts for whoever shows them."""
