"""Packets to and from the others: MQTT, the embedded broker, an in-memory network, and faults on demand."""
