"""SDS and SDS-R for one channel, as a pure state machine. `channel.py` is the door."""
