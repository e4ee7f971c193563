"""The keys of the README, as the bytes that a terminal sends, through a real terminal into the program itself."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from textual import events

from sdschat.tui.terminal import KeyParser
from tests.cli.processes import ROOT, command
from tests.transport.worlds import free_port
from tests.tui.random_keys import KEYS
from tests.tui.terminal import Terminal

ESC = "\x1b"
CLEAR = "\x15"  # Ctrl+U
CHOSEN = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
CHANNELS = ("lobby", "dev", "c3", "c4", "c5", "c6", "c7", "c8", "c9")


class Step(NamedTuple):
    keys: str  # of the README; empty for what only leads to the next step
    sent: str
    shown: str  # on the screen afterwards: a pattern, where any white space is one space
    gone: str = ""  # not on the screen afterwards


# One after the other in one run, as xterm sends them. An escape alone comes last in its step, so that nothing follows.
STEPS = (
    Step("Alt+Enter", f"one https://a.example/{ESC}\rtwo", "> one https://a.example/ two"),
    Step("Enter", "\r", "two ⇡ unacked", "> one"),
    Step("Ctrl+J", "three\nfour", "> three four"),
    Step("", "\r", "four ⇡ unacked", "> three"),
    Step("Tab", "/leg\t", "> /legend"),
    Step("", CLEAR, ">", "> /legend"),
    Step("", f"x{ESC}zy", "> xy"),  # Alt+z does nothing
    Step("", CLEAR, ">", "> xy"),
    Step("Up", f"{ESC}[A", "> three four"),
    Step("Down", f"{ESC}[B", ">", "> three"),
    Step("Ctrl+R", "\x12one", "search in what you wrote: one_"),
    Step("Esc", ESC, ">", "search in what"),
    Step("Alt+Up", f"{ESC}[1;3A{ESC}[1;3A", rf"{CHOSEN}.*\bone"),
    Step("Alt+Down", f"{ESC}[1;3B", rf"{CHOSEN}.*\bthree"),
    Step("F5", f"{ESC}[15~", "follows"),
    Step("", ESC, ">", "follows"),
    Step("", f"{ESC}[1;3A", rf"{CHOSEN}.*\bone"),
    Step("", f"{ESC}[1;3B", rf"{CHOSEN}.*\bthree"),
    Step("F6, r", f"{ESC}[17~r", "answer to ann"),
    Step("", ESC, ">", "answer to ann"),
    Step("y", f"{ESC}[17~y", "is copied to the clipboard", "> y"),
    Step("i", "i", "follows"),
    Step("", ESC, ">", "follows"),
    Step("o", f"{ESC}[1;3Ao", "would be opened in your browser"),
    Step("", f"{ESC}[17~/search t\r", "hit 1 of 2"),
    Step("n", f"{ESC}[17~n", "hit 2 of 2", "> n"),
    Step("N", "N", "hit 1 of 2"),
    Step("", ESC, ">", CHOSEN),
    Step("F1", f"{ESC}OP", "sdschat join lobby --name ann"),
    Step("", "\t\t", "writing, and people: .*/reply"),
    Step("", f"{ESC}[F", "/help NAME tells more"),
    Step("", ESC, ">", "/help NAME tells more"),
    Step("", "/help lens\r", "shows the protocol at work"),
    Step("PgDn", f"{ESC}[6~", ">", "shows the protocol at work"),
    Step("PgUp", f"{ESC}[5~", "shows the protocol at work"),
    Step("", ESC, ">", "shows the protocol at work"),
    Step("Alt+End", f"{ESC}[1;3F", "three"),
    Step("Alt+U", f"{ESC}u", "everything in this channel is read"),
    Step("Alt+L", f"{ESC}l", "no message came late"),
    Step("Alt+A", f"{ESC}a", "nothing is unread"),
    *(Step(f"Alt+{number}", f"{ESC}{number}", f"^ {CHANNELS[number - 1]} ") for number in range(9, 0, -1)),
    Step("Alt+E", f"{ESC}e", "No editor is set"),
    Step("Ctrl+X, Ctrl+E", "\x18\x05", "No editor is set"),
    Step("t", f"{ESC}[1;3A{ESC}[17~t", "nobody answered it"),
    Step("p", "p", "answers no other one"),
    Step("", ESC, ">", CHOSEN),
    Step("F2", f"{ESC}OQ", "why repair packet"),
    Step("Alt+Left", f"{ESC}[1;3D", ">", "what we miss"),
    Step("Alt+Right", f"{ESC}[1;3C", "what we miss"),
    Step("", f"{ESC}OQ", ">", "why repair packet"),
    Step("F3", f"{ESC}OR", "^ 1 lobby 2 dev"),
    Step("", f"{ESC}OR", "^ lobby"),
    Step("F4", f"{ESC}OS", ">", "▪ ann"),
    Step("", f"{ESC}OS", "▪ ann"),
    Step("", "/split dev\r", "▏ dev"),
    Step("F7", f"{ESC}[18~", "^ dev .* ▏ lobby"),
    Step("Ctrl+F", f"{ESC}1\x06t", "find t .*1 of 2"),
    Step("", "\r", "2 of 2"),
    Step("", "\t", "2 hits"),
    Step("", ESC, ">", "2 hits"),
    Step("", ESC, ">", "2 of 2"),
    Step("Ctrl+P", f"{CLEAR}\x10", "a channel, person, message"),
    Step("", ESC, ">", "a channel, person, message"),
    Step("Ctrl+C", "\x03", "Once more to leave"),
)


def join(*channels: str) -> list[str]:
    return command("join", *channels, "--name", "ann", "--timing", "demo", "--set", f"embedded.port={free_port()}")


def take(terminal: Terminal, step: Step) -> None:
    terminal.press(step.sent)

    def done() -> bool:
        text = re.sub(r"[\s│]+", " ", terminal.text())  # without frames
        return bool(re.search(step.shown, text)) and not (step.gone and step.gone in text)

    terminal.until(done, f"{step}")


def test_every_key_of_the_readme_works_as_the_bytes_that_a_terminal_sends(tmp_path: Path) -> None:
    with Terminal(join(*CHANNELS), tmp_path, size=(120, 30)) as terminal:
        terminal.until_text("hosting the broker")
        for step in STEPS:
            take(terminal, step)
        terminal.press("\x03")
        assert terminal.wait() == 0


def test_no_key_of_the_readme_is_left_out() -> None:
    page = (ROOT / "sdschat" / "tui" / "README.md").read_text()
    table = page.partition("\n## Keys\n")[2].partition("Every key is also")[0]
    columns = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ") and "| does" not in row]
    named = {key for column in columns for key in re.findall(r"(?:\w+\+)?\w+", column)} - {"or", "then"}
    assert len(named) >= 35
    assert named - {key for step in STEPS for key in step.keys.split(", ")} == set()


NEW_LINE = {
    "Alt+Enter": "\x1b\r",
    "Alt+Ctrl+J": "\x1b\n",
    "Ctrl+J": "\n",
    "Alt+Enter, kitty": "\x1b[13;3u",
    "Shift+Enter, kitty": "\x1b[13;2u",
    "Ctrl+J, kitty": "\x1b[106;5u",
    "Alt+Enter, modifyOtherKeys": "\x1b[27;3;13~",
    "Shift+Enter, modifyOtherKeys": "\x1b[27;2;13~",
    "Ctrl+J, modifyOtherKeys": "\x1b[27;5;106~",
}


def test_however_a_terminal_says_new_line_nothing_is_sent(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("hosting the broker")
        for name, sent in NEW_LINE.items():
            take(terminal, Step(name, f"half{sent}a message", "> half a message", "unacked"))
            take(terminal, Step("", CLEAR * 3, ">", "half"))
        terminal.press(f"half{ESC}")
        time.sleep(0.02)  # the rest of the key comes in another read
        take(terminal, Step("Alt+Enter, split", "\ra message", "> half a message", "unacked"))


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b[27;3;49~", "alt+1"),
        ("\x1b[27;3;97~", "alt+a"),
        ("\x1b[27;4;65~", "alt+shift+a"),
        ("\x1b1", "alt+1"),
        ("\x1bz", "alt+z"),
        ("\x1bä", "alt+ä"),
    ],
)
def test_alt_is_not_lost(sent: str, key: str) -> None:
    (event,) = KeyParser().feed(sent)
    assert isinstance(event, events.Key)
    assert (event.key, event.character) == (key, None)


def keys_of(read: str) -> list[str]:
    """Return the keys that come of one read."""
    parser = KeyParser()
    parser._asked_until = 0.0
    return [event.key for event in parser.feed(read) if isinstance(event, events.Key)]


@pytest.mark.parametrize("behind", [f"{ESC}a", f"{ESC}[A", f"hello{ESC}[A", "longer than thirty letters" * 2])
def test_alt_and_a_letter_are_one_key_whatever_comes_with_them(behind: str) -> None:
    """The letter went into the input, and was sent before the line that one typed then."""
    assert keys_of(f"{ESC}a{behind}") == ["alt+a", *keys_of(behind)]


def test_keys_are_the_same_however_many_come_in_one_read() -> None:
    """Over a slow connection, and on a busy machine, many come at once."""
    keys = sorted({*KEYS, "\x03", *(f"{ESC}{letter}" for letter in "aelukgAZ0123456789")})
    drawn = random.Random(1)
    for _ in range(300):
        pressed = drawn.choices(keys, k=drawn.randint(2, 40))
        assert keys_of("".join(pressed)) == [key for one in pressed for key in keys_of(one)], pressed


@pytest.mark.parametrize("over", ["_held_until", "_timeout_time"])
def test_esc_alone_is_esc(over: str) -> None:
    """While the terminal may answer, and afterwards."""
    parser = KeyParser()
    if over == "_timeout_time":
        parser._asked_until = 0.0
    assert list(parser.feed(ESC)) == []
    setattr(parser, over, 0.0)
    (event,) = parser.tick()
    assert isinstance(event, events.Key)
    assert event.key == "escape"
    (event,) = parser.feed("\r")
    assert isinstance(event, events.Key)
    assert event.key == "enter"


def test_line_after_line_a_message_goes_on_in_the_next_line_after_alt_enter(tmp_path: Path) -> None:
    with Terminal([*join("lobby"), "--plain"], tmp_path) as terminal:
        terminal.until_text("/help lists the commands")
        terminal.press(f"half{ESC}\ra message\rthe next\r")
        terminal.until_text(": half a message", ": the next")
        terminal.enter("/quit")
        assert terminal.wait() == 0


def test_esc_before_and_after_a_word_that_comes_at_once_writes_no_circumflex() -> None:
    parser = KeyParser()
    keys = [event for event in parser.feed("\x1b/end\r\x1b[A") if isinstance(event, events.Key)]
    assert [key.key for key in keys][:2] == ["escape", "slash"]
    assert "^" not in [key.character for key in keys]
    typed = [event.character for event in KeyParser().feed("2^8") if isinstance(event, events.Key)]
    assert typed == ["2", "^", "8"]


def test_the_mouse_selects_a_message_opens_a_view_and_scrolls(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("message lobby")
        for number in range(30):
            terminal.enter(f"number {number}")
        terminal.until_text("number 29")
        terminal.press(f"{ESC}[<0;30;20M{ESC}[<0;30;20m")
        terminal.until_text("F5 all of it")
        terminal.escape()
        terminal.until(lambda: "F5 all of it" not in terminal.text(), "still selected")
        terminal.press(f"{ESC}[<64;30;10M" * 5)
        terminal.until(lambda: "number 29" not in terminal.text(), "it does not scroll")
        terminal.press(f"{ESC}OQ")
        terminal.until_text("what we miss")
        (row, line), *_ = ((at, line) for at, line in enumerate(terminal.screen.display, 1) if "  packet  " in line)
        place = f"{line.index('packet') + 2};{row}"
        terminal.press(f"{ESC}[<0;{place}M{ESC}[<0;{place}m")
        terminal.until_text("packets lately")


def test_marking_a_text_with_the_mouse_selects_no_message(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("message lobby")
        terminal.enter("bring the long rope")
        terminal.until_text("unacked")
        (row, line), *_ = ((at, line) for at, line in enumerate(terminal.screen.display, 1) if "long rope" in line)
        start = line.index("the long") + 1
        terminal.press(f"{ESC}[<0;{start};{row}M{ESC}[<32;{start + 8};{row}M{ESC}[<0;{start + 8};{row}m")
        terminal.press("\x03")
        terminal.until_text("is copied")
        assert "F5 all of it" not in terminal.text()


def test_commands_of_other_programs_are_answered_with_what_is_here_in_their_place(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("message lobby")
        for typed, told in (
            ("/react", "a short answer is one, and /reply writes it."),
            ("/seen", "Who has it is known: /why tells."),
            ("/typing", "it would tell what is not said."),
            ("/plugin", "takes part by `sdschat pipe`"),
            ("/language", "English alone"),
            ("/kick", "/remove takes a member out"),
            ("/discard", "/outbox lists what waits."),
            ("/settings", "`sdschat config` lists all settings."),
            ("/creat", "Did you mean /create?"),
        ):
            terminal.enter(typed)
            terminal.until_text(told)
            terminal.press("\x15")


def test_esc_is_not_lost_before_a_key_that_has_no_alt() -> None:
    for sent, key in (("\x15", "ctrl+u"), ("/", "slash"), ("?", "question_mark"), (" ", "space")):
        parser = KeyParser()
        parser._asked_until = 0.0
        assert list(parser.feed(f"{ESC}{sent}")) == []
        parser._timeout_time = 0.0
        assert [event.key for event in parser.tick() if isinstance(event, events.Key)] == ["escape", key]


def test_a_key_that_comes_at_once_with_esc_acts_after_it(tmp_path: Path) -> None:
    """Help was opened, and closed by the Esc before it; the palette and the search likewise."""
    esc = f"{ESC}[27u"  # as the protocol of kitty writes it: nothing waits for what may follow
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("hosting the broker")
        terminal.press(f"{ESC}[17~")
        terminal.until_text("message lobby")
        take(terminal, Step("F1", f"{esc}{ESC}OPfingerprint", "filter: fingerprint_"))
        take(terminal, Step("Ctrl+F", f"{esc}{esc}\x06words", "find words"))
        take(terminal, Step("Ctrl+P", f"{esc}{esc}\x10/quit", "/quit .*Enter chooses", "find words"))


def test_esc_in_the_input_acts_before_a_key_that_comes_at_once(tmp_path: Path) -> None:
    """The search was opened, then closed by the Esc before it, and the frame went on without the keys of the input."""
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("hosting the broker")
        take(terminal, Step("Enter", "a line\r", "a line ⇡ unacked"))
        take(terminal, Step("Alt+Up", f"{ESC}[1;3A", "F6 answer it"))
        take(terminal, Step("Ctrl+F", f"{ESC}[27u\x06words", "find words", "F5 all of it"))
        take(terminal, Step("Esc", f"{ESC}[27u", "Alt.Enter new line"))
        take(terminal, Step("Ctrl+F, Esc", f"\x06{ESC}[27u", "Alt.Enter new line", "find words"))


def test_help_that_is_asked_for_before_the_first_frame_has_the_keys(tmp_path: Path) -> None:
    """It was open, and the keys went into the input: Tab turned no page, and the frame did not name it."""
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until(lambda: b"\x1b[?1049h" in terminal.written, "the program does not take the screen")
        terminal.press(f"{ESC}OP")
        terminal.until_text("sdschat join lobby --name ann", "message lobby")
        take(terminal, Step("F1", "\t", "begins a new line .*Tab next page"))


def test_esc_and_ctrl_u_at_once_close_help_and_clear_the_input(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("message lobby")
        terminal.press("half of it")
        terminal.until_text("> half of it")
        terminal.press(f"{ESC}OP")
        terminal.until_text("Tab next page")
        terminal.press(f"{ESC}{CLEAR}")
        terminal.until(lambda: "Tab next page" not in terminal.text(), "help is still there")
        terminal.until(lambda: "half of it" not in terminal.text(), "the input is still there")


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_paste_comes_whole_and_without_control_characters_in_pieces_of_any_size(size: int) -> None:
    """Text behind an escape in a paste was taken for keys: a line break in it sent."""
    sent = (
        f"a{ESC}[200~rm {ESC} one\rsecond line, which is longer\rt\x9bh\x07i\u202er\u2066d"
        f"{ESC}[20{ESC}[201~b{ESC}[200~c{ESC}[201~d"
    )
    parser, found = KeyParser(), list[str]()
    for at in range(0, len(sent), size):
        for event in parser.feed(sent[at : at + size]):
            assert isinstance(event, (events.Key, events.Paste))
            found.append(event.text if isinstance(event, events.Paste) else event.key)
    assert found == ["a", "rm  one\rsecond line, which is longer\rthird[20", "b", "c", "d"]


def test_a_paste_with_an_escape_in_it_sends_nothing(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("hosting the broker")
        pasted = f"{ESC}[200~rm {ESC} something\rsecond line that is longer\rthird{ESC}[201~"
        take(terminal, Step("", pasted, "> rm something second line that is longer third", "unacked"))


def test_a_command_that_finds_nothing_leaves_nothing_in_the_input(tmp_path: Path) -> None:
    """The line stayed as after a mistake, and the message that one typed next stood behind it."""
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("hosting the broker")
        for name, told in {
            "next": "nothing is unread in the other channels",
            "unread": "everything in this channel is read",
            "late": "no message came late",
            "mentions": "nothing here is to you",
            "strangers": "nobody waits here",
            "links": "there is no link",
            "goto 2099-01-01": "nothing was said since",
        }.items():
            take(terminal, Step("", f"/{name}\r", f"{told}.*> ╰─+ Enter send", f"/{name}"))


def test_the_frame_says_what_enter_does_with_a_doubtful_command(tmp_path: Path) -> None:
    """It said *Enter try again*, below the sentence that Enter sends it as a message."""
    with Terminal(join("lobby"), tmp_path) as terminal:
        terminal.until_text("hosting the broker")
        take(terminal, Step("", " /quit\r", "Enter again sends it as a message.*Enter again ⋅ Esc empty the input"))
        take(terminal, Step("", "\r", "/quit ⇡ unacked"))


def test_who_types_while_the_log_has_the_keys_writes_a_message(tmp_path: Path) -> None:
    """Letters acted as keys of the log: *yes* copied something, *ok* was about a link, and the rest was lost."""
    with Terminal(join("lobby"), tmp_path, size=(100, 30)) as terminal:
        terminal.until_text("hosting the broker")
        terminal.enter("see https://a.example/")
        terminal.until_text("unacked")
        into_log, copied = f"{ESC}[17~", b"\x1b]52;"
        take(terminal, Step("F6", into_log, "Up Down select ⋅ PgUp PgDn scroll ⋅ Esc back"))
        for words in ("yes", "ok", "it is so", "hello", "please", "right", "the end", "no", "Not"):
            take(terminal, Step("", words, f"> {words} .*Enter send"))
            take(terminal, Step("", CLEAR, "> ", f"> {words}"))
            take(terminal, Step("F6", into_log, "Up Down select"))
        assert copied not in terminal.written
        take(terminal, Step("", "hello\r", "⋅ hello", "> hello"))
        take(terminal, Step("", f"{into_log}{ESC}[A", f"{CHOSEN}.*hello.* r answer ⋅ i details"))
        take(terminal, Step("", "y", "is copied to the clipboard", "> y"))
        assert copied in terminal.written
        take(terminal, Step("", "what", "> what .*Enter send"))


def test_who_clicks_on_a_message_and_types_writes_a_message(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("hosting the broker")
        take(terminal, Step("", "look at me\r", "look at me .*unacked", "> look at me"))
        (row,) = (at for at, line in enumerate(terminal.screen.display, 1) if "look at me" in line)
        take(terminal, Step("", f"{ESC}[<0;30;{row}M{ESC}[<0;30;{row}m", f"{CHOSEN}.*look at me"))
        take(terminal, Step("", "yes", f"{CHOSEN}.*look at me.*> yes"))


def test_a_paste_whose_end_is_lost_ends_once_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """All keys were taken for its text, Ctrl+Q among them, for ever."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    parser = KeyParser()
    found = [*parser.feed(f"{ESC}[200~some te"), *parser.tick()]
    now += 4
    found += [*parser.tick(), *parser.feed("xt"), *parser.tick()]
    assert not found
    now += 6
    (paste,) = parser.tick()
    assert isinstance(paste, events.Paste)
    assert paste.text == "some text"
    (key,) = parser.feed("\x11")
    assert isinstance(key, events.Key)
    assert key.key == "ctrl+q"
