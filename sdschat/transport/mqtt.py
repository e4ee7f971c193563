"""One MQTT connection over paho. No other module uses paho.

paho runs no thread here: the event loop calls it when its socket can be read or written. Only the opening of the
socket (name look-up, TCP, TLS and websocket handshakes, all blocking in paho) runs elsewhere: on a short-lived thread
that returns a connected socket and nothing else.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NoReturn

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from sdschat.transport.base import DOCTOR, Receipt, Received, Why
from sdschat.transport.buffered_socket import BufferedSocket
from sdschat.transport.mqtt_reasons import (
    WebsocketRefusedError,
    explain_dial,
    explain_goodbye,
    explain_loss,
    explain_refusal,
)
from sdschat.transport.session import BrokerSession, LinkEvents, LinkOptions, LinkTraffic

_PACKETS_AT_A_TIME: Final = 16  # then the loop can do other work, such as reading keys
_SUBSCRIBE_QOS: Final = 1
_PROTOCOL_ERROR: Final = 0x82

# mosquitto acknowledges a message above its `message_size_limit` with this code, which the standard has for connections
# only, so paho would end the connection. paho 2.1 has no such table.
for _kinds in getattr(ReasonCode, "names", {}).get(0x95, {}).values():
    if PacketTypes.PUBACK not in _kinds:
        _kinds.append(PacketTypes.PUBACK)


class _Client(paho.Client):
    """paho's client, but it is given its socket and does not open it itself."""

    ready: BufferedSocket | None = None
    tls: ssl.SSLContext | None = None
    _half_open: socket.socket | None = None

    def dial(self) -> Any:
        """Open a socket as paho does; this blocks. Unlike paho it leaves no socket open after a failure."""
        try:
            made: Any = super()._create_socket()
        except BaseException as error:
            if self._half_open is not None:
                self._half_open.close()
            if isinstance(error, paho.WebsocketConnectionError):
                raise WebsocketRefusedError(str(error)) from error
            raise
        finally:
            self._half_open = None
        return made

    def hang_up(self) -> None:
        """Close the socket now, if there is one."""
        self._sock_close()

    def count_as_heard(self) -> None:
        """Count the broker as heard: while nothing is read, its silence says nothing. It still hears us."""
        with self._msgtime_mutex:
            self._last_bytes_received = paho.time_func()

    def _send_pubrec(self, mid: int) -> NoReturn:
        """End the connection: we subscribe with QoS 1, and paho keeps packets of QoS 2 until they are released."""
        raise ValueError(f"packet {mid} came with QoS 2")

    def _create_socket(self) -> Any:
        made, self.ready = self.ready, None
        assert made is not None
        return made

    def _create_socket_connection(self) -> socket.socket:
        made = super()._create_socket_connection()
        # Nagle's algorithm would delay small packets that answer each other by 40 ms.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._half_open = made
        return made

    def _ssl_wrap_socket(self, tcp_sock: socket.socket) -> ssl.SSLSocket:
        assert self.tls is not None
        self._half_open = made = self.tls.wrap_socket(
            tcp_sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        made.settimeout(self.connect_timeout)
        made.do_handshake()
        return made


class PahoLink:
    """A `session.Link` over paho."""

    def __init__(
        self, options: LinkOptions, events: LinkEvents, traffic: LinkTraffic, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.heard_at = 0.0
        self.echoed = False
        self._options = options
        self._events = events
        self._traffic = traffic
        self._loop = loop
        self._stream: BufferedSocket | None = None
        self._handled = 0
        self._opened = self._closed = self._leaving = self._paused = self._inside = self._resumed = False
        self._more = False  # True: the rest of the input is read in the next turn of the loop
        self._numbers: set[int] = set()  # ids of the packets that we must acknowledge
        self._unacknowledged: deque[int] = deque()  # those that we did not yet, in the order in which they came
        self._taken: set[int] = set()  # and those of them that wait for an earlier one
        self._client = self._make_client()

    def _make_client(self) -> _Client:
        options = self._options
        five = options.version == 5
        client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.client_id,
            clean_session=None if five else not options.session_kept,
            manual_ack=options.session_kept > 0,
            protocol=MQTTProtocolVersion.MQTTv5 if five else MQTTProtocolVersion.MQTTv311,
            transport="websockets" if options.address.websocket else "tcp",
            reconnect_on_failure=False,
        )
        client.connect_timeout = options.dial_timeout
        # Outbox limits the packets under way: paho does not know the broker's limit and would queue all of them.
        client.max_inflight_messages_set(0)
        if options.address.websocket:
            client.ws_set_options(path=options.address.path)
        if options.tls is not None:
            client.tls_set_context(options.tls)
            client.tls = options.tls
        if options.address.user is not None or options.password is not None:
            client.username_pw_set(
                options.address.user or "", None if options.password is None else options.password.reveal()
            )
        if options.will_topic is not None:
            client.will_set(options.will_topic, options.will, qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_subscribe = self._on_subscribe
        client.on_socket_open = self._on_socket_open
        client.on_socket_close = self._on_socket_close
        client.on_socket_register_write = self._on_register_write
        client.on_socket_unregister_write = self._on_unregister_write
        return client

    # Methods that the transport calls.

    def open(self) -> None:
        threading.Thread(target=self._dial, name="sdschat-dial", daemon=True).start()

    def subscribe(self, topic_filters: Sequence[str]) -> int:
        # With MQTT 5 our own packets do not come back, except for the probe and what `doctor` writes to itself.
        five = self._options.version == 5
        wanted: list[Any] = [
            (
                each,
                SubscribeOptions(_SUBSCRIBE_QOS, noLocal=each != self._options.echo and DOCTOR not in each)
                if five
                else _SUBSCRIBE_QOS,
            )
            for each in topic_filters
        ]
        _, packet_id = self._client.subscribe(wanted)
        return packet_id or 0

    def unsubscribe(self, topic_filter: str) -> None:
        self._client.unsubscribe(topic_filter)

    def publish(self, topic: str, payload: bytes, qos: int, retain: bool) -> int:
        return self._client.publish(topic, payload, qos, retain).mid

    def tick(self) -> None:
        if not self._closed and self._stream is not None:
            if self._paused:
                self._client.count_as_heard()
            self._guarded(self._client.loop_misc)

    def pause(self) -> None:
        if self._stream is not None and not self._paused and not self._closed:
            self._loop.remove_reader(self._stream.fileno())
        self._paused = True

    def resume(self) -> None:
        if self._stream is not None and self._paused and not self._closed:
            self._loop.add_reader(self._stream.fileno(), self._readable)
            self._loop.call_soon(self._readable)
        self._paused = False

    def disconnect(self) -> None:
        self._leaving = True
        if self._stream is None:
            self.abort(Why.CLOSED, "")
        else:
            self._client.disconnect()

    # Opening the socket.

    def _dial(self) -> None:
        address = self._options.address
        made: BufferedSocket | None = None
        problem: Exception | None = None
        try:
            self._client.connect_async(address.host, address.port, self._options.keepalive, **self._connect_options())
            made = BufferedSocket(self._client.dial(), self._options.max_incoming)
        except Exception as error:
            # Catch any error of the resolver, TLS or the websocket handshake: on this thread nobody else would see it.
            problem = error
        try:
            self._loop.call_soon_threadsafe(self._dialled, made, problem)
        except RuntimeError:  # the loop is closed: nobody waits for the socket any more
            if made is not None:
                made.close()

    def _connect_options(self) -> dict[str, Any]:
        if self._options.version != 5:
            return {}
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.MaximumPacketSize = self._options.max_incoming
        if self._options.session_kept:
            properties.SessionExpiryInterval = self._options.session_kept
        return {"clean_start": not self._options.session_kept, "properties": properties}

    def _dialled(self, made: BufferedSocket | None, problem: Exception | None) -> None:
        if made is None:
            self.abort(*explain_dial(problem, self._options.address))
        elif self._closed:
            made.close()
        else:
            self._client.ready = self._stream = made
            self._guarded(self._client.reconnect)

    def _readable(self) -> None:
        """Read from the socket, unless the reading of an earlier input continues: that is scheduled already."""
        if not self._more:
            self._read()

    def _read_on(self) -> None:
        self._more = False
        self._read()

    def _read(self) -> None:
        stream = self._stream
        if stream is None or self._closed or self._paused:
            return
        self._handled = steps = 0
        while max(self._handled, steps) < _PACKETS_AT_A_TIME:  # a step may handle several, or one that is not counted
            self._guarded(self._client.loop_read)
            steps += 1
            if self._closed or self._paused or stream.dry:
                return
        self._more = True
        self._loop.call_soon(self._read_on)

    def _writable(self) -> None:
        if not self._closed:
            self._guarded(self._client.loop_write)

    def _guarded(self, step: Any) -> None:
        """Run a step of paho. A step that raises or fails ends this connection, never the loop."""
        self._inside = True
        try:
            result = step()
            failed = result not in (None, MQTTErrorCode.MQTT_ERR_SUCCESS)
        except Exception as error:
            # For example paho raises on a badly malformed packet.
            self.abort(Why.PROTOCOL, f"The broker sent what cannot be read ({type(error).__name__}).")
            failed = False
        self._inside = False
        if failed:
            garbled = result == MQTTErrorCode.MQTT_ERR_PROTOCOL
            self.abort(*explain_loss(self._stream, self._opened, self._options, garbled=garbled))
        if self._closed:
            self._client.hang_up()

    # Callbacks of paho.

    def _on_socket_open(self, _client: Any, _data: Any, sock: Any) -> None:
        self._loop.add_reader(sock.fileno(), self._readable)

    def _on_socket_close(self, _client: Any, _data: Any, sock: Any) -> None:
        self._loop.remove_reader(sock.fileno())
        self._loop.remove_writer(sock.fileno())

    def _on_register_write(self, _client: Any, _data: Any, sock: Any) -> None:
        self._loop.add_writer(sock.fileno(), self._writable)

    def _on_unregister_write(self, _client: Any, _data: Any, sock: Any) -> None:
        self._loop.remove_writer(sock.fileno())

    def _on_connect(
        self, _client: Any, _data: Any, flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self.abort(*explain_refusal(reason.value, str(reason)))
            return
        self._opened = True
        # Given with MQTT 5 only, and only by a broker that sets a limit.
        max_packet = getattr(properties, "MaximumPacketSize", None)
        window = getattr(properties, "ReceiveMaximum", None) or 65535
        self._resumed = bool(flags.session_present)
        self._events.link_opened(BrokerSession(max_packet, window, self._resumed))

    def _on_disconnect(self, _client: Any, _data: Any, flags: Any, reason: ReasonCode, _properties: Any) -> None:
        if self._leaving:
            self.abort(Why.CLOSED, "")
        elif flags.is_disconnect_packet_from_server:
            self.abort(*explain_goodbye(reason.value, str(reason)))
        else:
            garbled = reason.value == _PROTOCOL_ERROR
            self.abort(*explain_loss(self._stream, self._opened, self._options, garbled=garbled))

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        self._handled += 1
        receipt = self._receipt(message) if self._options.session_kept and message.qos else None
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""  # no program of ours uses such a topic
        else:
            self.heard_at = self._loop.time()
        if not topic or topic == self._options.echo:
            self.echoed = self.echoed or bool(topic)
            if receipt is not None:  # rumqttd passes on the probe with the quality of the subscription
                self._loop.call_soon(receipt.acknowledge)
            return
        self._traffic.emit(Received(topic, bytes(message.payload), message.retain, receipt))

    def _receipt(self, message: paho.MQTTMessage) -> Receipt:
        # Not every broker marks a repeated packet. In a resumed session the repeated packets come first, with their old
        # ids.
        again = message.dup or (self._resumed and message.mid not in self._numbers)
        self._numbers.add(message.mid)
        self._unacknowledged.append(message.mid)
        return Receipt(message.mid, again, partial(self._acknowledge, message.mid))

    def _acknowledge(self, packet_id: int) -> None:
        """Acknowledge a packet, and what waits for it: MQTT demands the order of arrival, and rumqttd hangs up at any
        other one."""
        self._taken.add(packet_id)
        waiting = self._unacknowledged
        while not self._closed and waiting and waiting[0] in self._taken:
            first = waiting.popleft()
            self._taken.discard(first)
            self._guarded(partial(self._client.ack, first, _SUBSCRIBE_QOS))

    def _on_publish(self, _client: Any, _data: Any, packet_id: int, reason: ReasonCode, _properties: Any) -> None:
        self._handled += 1
        self._traffic.answered(packet_id, str(reason) if reason.is_failure else None)

    def _on_subscribe(self, _c: Any, _d: Any, packet_id: int, reasons: list[ReasonCode], _properties: Any) -> None:
        self._events.link_subscribed(packet_id, [str(each) if each.is_failure else None for each in reasons])

    def abort(self, why: Why, detail: str) -> None:
        if self._closed:
            return
        self._closed = True
        # During a callback paho holds its lock, and closing the socket would take it again: `_guarded` closes it later.
        if not self._inside:
            self._client.hang_up()
        self._events.link_closed(why, detail)
