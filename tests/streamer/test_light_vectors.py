"""The test vectors of the light streamer's wire: what it says itself, and what all others of Penstock read.

The light streamer imports nothing of Penstock, so only these keep its requests, its answers and its messages
equal to the typed structs, to the client, and to the receiver's decoder.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from penstock.stins import codec
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start
from penstock.streamer.remote import light_protocol, protocol
from penstock.streamer.remote.light_client import LightClient, LightRefused
from penstock.streamer.remote.light_protocol import LightDescription, LightStatus
from tests.streamer.light_rig import Light, cbf_file, pixels
from tests.streamer.rig import DEADLINE

VECTORS = json.loads(Path(__file__).with_name("light_vectors.json").read_text())
EXCHANGES: list[dict[str, Any]] = VECTORS["exchanges"]
STREAM: list[list[Any]] = VECTORS["stream"]


def names(exchange: dict[str, Any]) -> str:
    request = exchange["request"]
    return f"{request['id']}-{request['op']}"


def fits(found: Any, wanted: Any) -> bool:
    """Whether a value is as in the vectors, where "*" stands for any."""
    if wanted == "*":
        return found is not None
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and found.keys() == wanted.keys()
            and all(fits(found[key], wanted[key]) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(fits(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return type(found) is type(wanted) and bool(found == wanted)


def filled(wanted: Any, like: Any) -> Any:
    """A value of the vectors with a value of the right type for each "*"."""
    if wanted == "*":
        return like
    if isinstance(wanted, dict):
        return {key: filled(value, like.get(key)) for key, value in wanted.items()}
    if isinstance(wanted, list):
        return [filled(each, "127.0.0.1:40000") for each in wanted]
    return wanted


def plain(struct: msgspec.Struct) -> Any:
    """A struct as JSON has it."""
    return json.loads(msgspec.json.encode(struct))


# The light streamer -----------------------------------------------------------------------------------------


def test_the_light_streamer_answers_and_sends_what_the_vectors_say(python: str, tmp_path: Path) -> None:
    with Light(python, tmp_path / "ramdisk", receiver=False) as light:
        with light.context.socket(zmq.DEALER) as dealer:
            dealer.connect(light.ready["control"])

            def ask(request: dict[str, Any]) -> Any:
                dealer.send(json.dumps(request).encode())
                assert dealer.poll(int(DEADLINE * 1000)), request
                return json.loads(dealer.recv())

            for exchange in EXCHANGES:
                for name in exchange.get("files", ()):
                    light.write(name, cbf_file(pixels(0)))
                if exchange.get("before") == "a receiver connects":
                    light.connect()
                answer = ask(exchange["request"])
                for _ in range(100_000):
                    if all(answer["ok"][key] == value for key, value in exchange.get("until", {}).items()):
                        break
                    answer = ask(exchange["request"])
                assert fits(answer, exchange["answer"]), f"{exchange['request']}: {answer}"
        for message in STREAM:
            assert light.pull.poll(int(DEADLINE * 1000)), message
            head, *rest = light.pull.recv_multipart()
            assert fits(json.loads(head), message[0]), (head, message)
            assert len(rest) == len(message) - 1
            if message[-1] == "blob":
                assert rest[0] in cbf_file(pixels(0))
            elif rest:
                assert json.loads(rest[0]) == message[1]
        assert light.process.wait(DEADLINE) == 0


# The typed structs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exchange", EXCHANGES, ids=names)
def test_the_structs_have_the_fields_of_the_vectors(exchange: dict[str, Any]) -> None:
    request = msgspec.convert(exchange["request"], light_protocol.AnyRequest)
    assert plain(request) == exchange["request"]

    answer = exchange["answer"]
    if "refused" in answer:
        assert msgspec.convert(answer, protocol.Answer).refused is not None
        return
    kind = LightDescription if exchange["request"]["op"] == "describe" else LightStatus
    like = plain(EXAMPLES[kind])
    ok = filled(answer["ok"], like)
    assert plain(msgspec.convert(ok, kind)) == {**ok}
    assert ok.keys() == {field.name for field in msgspec.structs.fields(kind)}


EXAMPLES: dict[type[msgspec.Struct], msgspec.Struct] = {
    LightDescription: LightDescription(
        version="2.0", folder="/dev/shm/x", data_endpoint="tcp://0.0.0.0:9999", pid=1, host="pilatus",
        python="3.6.15", zmq="4.3.4",
    ),
    LightStatus: LightStatus(state="idle", image_header="# Tau = 0 s"),
}  # fmt: skip


# The client -------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded() -> Iterator[tuple[LightClient, list[dict[str, Any]]]]:
    """A client, and a server that answers with the vectors; the requests that it got."""
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    asked: list[dict[str, Any]] = []

    def serve() -> None:
        for exchange in EXCHANGES:
            identity, part = router.recv_multipart()
            asked.append(json.loads(part))
            kind = LightDescription if exchange["request"]["op"] == "describe" else LightStatus
            answer = {**exchange["answer"], "id": asked[-1]["id"]}
            if "ok" in answer:
                answer["ok"] = filled(answer["ok"], plain(EXAMPLES[kind]))
            router.send_multipart([identity, json.dumps(answer).encode()])

    thread = threading.Thread(target=serve)
    thread.start()
    client = LightClient(f"tcp://127.0.0.1:{port}", timeout=DEADLINE)
    yield client, asked
    client.close()
    thread.join(DEADLINE)
    context.destroy(0)


def test_the_client_asks_and_reads_what_the_vectors_say(
    recorded: tuple[LightClient, list[dict[str, Any]]],
) -> None:
    client, asked = recorded
    for exchange in EXCHANGES:
        given = dict(exchange["request"])
        call = getattr(client, given.pop("op"))
        given.pop("id")
        wanted = exchange["answer"]
        if "refused" in wanted:
            with pytest.raises(LightRefused) as caught:
                call(**given)
            assert caught.value.kind == wanted["refused"]["kind"]
        else:
            result = call(**given)
            if result is not None:
                assert fits(plain(result), wanted["ok"])
        assert {**asked[-1], "id": 0} == {**exchange["request"], "id": 0}


# The receiver's decoder -------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", STREAM, ids=lambda message: str(message[0]["msg_number"]))
def test_the_receivers_decoder_reads_every_key(message: list[Any]) -> None:
    any_of = {"image_header": "# Tau = 0 s"}
    head = {key: any_of.get(key, 1.5) if value == "*" else value for key, value in message[0].items()}
    rest = [b"data" if part == "blob" else json.dumps(part).encode() for part in message[1:]]

    decoded = codec.decode([json.dumps(head).encode(), *rest])

    struct: Header | Image | SeriesEnd
    if isinstance(decoded, Start):
        struct, metadata = decoded.header, decoded.metadata
        assert metadata == message[1]
    elif isinstance(decoded, Frame):
        struct = decoded.image
        assert list(decoded.blobs) == [b"data"]
    else:
        assert isinstance(decoded, SeriesEnd)
        struct = decoded
    found = plain(struct)
    assert {key: found.get(key, False) for key in head} == head  # a default, such as overwrite, is left out
    assert found.keys() <= head.keys()
