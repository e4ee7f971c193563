"""People of a private channel, for tests: who has which operations, and which secrets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from sdschat.identity.private.link import (
    EpochName,
    accept,
    epoch_mark,
    make_link,
    make_removal,
    problem_with_join,
    read_link,
    secret_for,
    secrets_known,
)
from sdschat.identity.private.roster import Roster, SignedOperation, fold
from sdschat.identity.signing import Identity
from sdschat.wire.private_codec import Admin, Genesis, Join, Operation, Remove, Renew, encode_operation

NOW = 1_000_000


@dataclass(eq=False)
class World:
    """A private channel, the operations of its log, and a clock."""

    genesis: Genesis
    log: dict[str, SignedOperation] = field(default_factory=dict)
    now: int = NOW
    made: int = 0

    def fresh(self) -> bytes:
        self.made += 1
        return hashlib.sha256(b"fresh %d" % self.made).digest()


@dataclass(eq=False)
class Person:
    """A participant: what has arrived, and the secrets of epochs."""

    world: World
    identity: Identity
    here: dict[str, SignedOperation] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)  # by the removal that brought them
    marked: dict[bytes, bytes] = field(default_factory=dict)  # from links, by the mark of their epoch

    @property
    def key(self) -> bytes:
        return self.identity.public_key

    @property
    def roster(self) -> Roster:
        return fold(self.world.genesis, self.here.values())

    def say(self, operation: Operation, lamport: int = 0) -> str:
        self.world.now += 1
        lamport = lamport or self.world.now
        values = f"{lamport}{self.key.hex()}{encode_operation(operation)}"
        message_id = hashlib.sha256(values.encode()).hexdigest()
        problem = problem_with_join(self.world.genesis, operation, self.key) if isinstance(operation, Join) else ""
        signed = SignedOperation(lamport, message_id, self.key, operation, problem)
        self.world.log[message_id] = signed
        self.take(signed)
        return message_id

    def take(self, signed: SignedOperation) -> None:
        self.here[signed.message_id] = signed
        if isinstance(signed.operation, Remove):
            secret = secret_for(self.identity, signed.operation)
            if secret is not None:
                self.secrets[signed.message_id] = secret

    def meet(self, other: Person) -> None:
        """Exchange everything."""
        for each in list(other.here.values()):
            self.take(each)
        for each in list(self.here.values()):
            other.take(each)

    def secret(self, epoch: EpochName) -> bytes | None:
        operations = {one: each.operation for one, each in self.here.items()}
        names = (epoch, *self.roster.epoch_before.values())
        _, marked = secrets_known(self.identity, names, operations, self.secrets, self.marked)
        return marked.get(epoch_mark(epoch))

    def link(self, *, uses: int = 0, expires: int = 0) -> str | None:
        roster = self.roster
        secret = self.secret(roster.epoch)
        if secret is None:
            return None
        seed = self.world.fresh()
        options = {"uses": uses, "expires": expires, "epoch": epoch_mark(roster.epoch)}
        return make_link(self.identity, self.world.genesis, secret, seed, **options)  # type: ignore[arg-type]

    def join(self, text: str, lamport: int = 0) -> str:
        link = read_link(text, self.world.now)
        self.marked[link.invite.epoch] = link.epoch_secret
        return self.say(accept(link, self.identity), lamport)

    def remove(self, target: Person, lamport: int = 0) -> str:
        roster = self.roster
        remain = [key for key in roster.members if key != target.key]
        return self.say(make_removal(target.key, roster.seen, remain, self.world.fresh()), lamport)

    def appoint(self, target: Person, granted: bool = True, lamport: int = 0) -> str:
        return self.say(Admin(target.key, self.roster.seen, granted), lamport)

    def renew(self, lamport: int = 0) -> str:
        roster = self.roster
        return self.say(Renew(epoch_mark(roster.epoch), roster.seen), lamport)


def channel(people: int, *, admins_invite: bool = False, since_join: bool = False) -> tuple[World, list[Person]]:
    """A channel whose creator, the first of these people, has let in all others."""
    identities = [Identity(hashlib.sha256(b"person %d" % number).digest()) for number in range(people)]
    world = World(Genesis(identities[0].public_key, bytes(16), "garden", admins_invite, since_join=since_join))
    persons = [Person(world, identity) for identity in identities]
    persons[0].marked[b""] = world.fresh()
    link = persons[0].link()
    assert link is not None
    for each in persons[1:]:
        each.join(link)
    everybody(persons)
    return world, persons


def everybody(persons: list[Person]) -> None:
    """Let everybody have everything."""
    for _ in range(2):
        for each in persons[1:]:
            persons[0].meet(each)
