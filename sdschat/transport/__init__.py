"""Packets to and from the other participants: MQTT, the embedded broker, an in-memory network, fault injection."""
