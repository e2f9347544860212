"""Serves a language model in a GGUF file as Chat Completions on a local port.

It runs in a process of its own, with the interpreter that has `mistralrs`: `python real_model.py FILE`. When the model
is loaded it prints its address. It ends when its standard input does, so also if the test that started it is killed. It
imports nothing of this repository, and it opens no connection.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from typing import Any

HOST = "127.0.0.1"
PROSE_MODEL = "prose"
"""A request for this name gets the text that the model writes by itself, whatever schema it asks for."""
MAX_REPLY_TOKENS = 600
"""More than any answer of a model that is not in a loop."""
# One thread: with more, the threads of `mistralrs` wait for each other in busy loops, and on a machine with
# other work that is 10 times slower.
THREADS = {"CANDLE_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
# Of the weights that it computes on any processor these are the fastest: 5 to 6 times as fast as those of the file.
WEIGHTS = "q8_0"


class RealModel:
    """A model that writes one reply at a time, and records the requests and its replies."""

    def __init__(self, file: Path) -> None:
        self._module: Any = import_module("mistralrs")
        which = self._module.Which.GGUF(str(file.parent), file.name)
        self._runner = self._module.Runner(which=which, in_situ_quant=WEIGHTS, token_source="none")
        self._lock = Lock()
        self._calls: list[dict[str, Any]] = []

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The requests and their replies; one that is being written is waited for."""
        with self._lock:
            return list(self._calls)

    def stream(self, asked: dict[str, Any]) -> Generator[dict[str, Any]]:
        """Yields the chunks of a reply as OpenAI formats them, and last one with the usage."""
        form = (asked.get("response_format") or {}).get("json_schema")
        schema = form["schema"] if form and asked["model"] != PROSE_MODEL else None
        request = self._module.ChatCompletionRequest(
            messages=[{"role": each["role"], "content": _join_text(each["content"])} for each in asked["messages"]],
            model="default",
            temperature=asked.get("temperature"),
            top_k=None if asked.get("temperature") else 1,
            max_tokens=MAX_REPLY_TOKENS,
            grammar=json.dumps(schema) if schema else None,
            grammar_type="json_schema" if schema else None,
            stream=True,
        )
        call: dict[str, Any] = {"messages": asked["messages"], "has_schema": bool(schema), "reply": ""}
        with self._lock:
            self._calls.append(call)
            for chunk in self._runner.send_chat_completion_request(request):
                choice = chunk.choices[0]
                text = choice.delta.content or ""
                call["reply"] += text
                yield _format_chunk(asked, [{"index": 0, "delta": {"role": "assistant", "content": text}}])
                if choice.finish_reason:
                    call["finish_reason"] = choice.finish_reason
                    call["usage"] = {
                        "prompt_tokens": chunk.usage.prompt_tokens,
                        "completion_tokens": chunk.usage.completion_tokens,
                        "total_tokens": chunk.usage.total_tokens,
                    }
                    yield _format_chunk(asked, [{"index": 0, "delta": {}, "finish_reason": choice.finish_reason}])
                    yield _format_chunk(asked, []) | {"usage": call["usage"]}
                    return


def _join_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _format_chunk(asked: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    body = {"id": "chatcmpl-real", "object": "chat.completion.chunk", "created": 0, "model": asked["model"]}
    return body | {"choices": choices}


def _join_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a whole reply with the text of its chunks."""
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    text = "".join(choice["delta"].get("content", "") for choice in choices)
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": choices[-1]["finish_reason"]}
    return chunks[-1] | {"object": "chat.completion", "choices": [choice]}


def build_handler(model: RealModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Sends what the model was asked and what it replied."""
            self._send("application/json")
            self.wfile.write(json.dumps(model.calls).encode())

        def do_POST(self) -> None:
            if self.path != "/v1/chat/completions":
                self.send_error(404)
                return
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            # A client that has read enough closes the connection.
            with closing(model.stream(asked)) as chunks, suppress(BrokenPipeError, ConnectionResetError):
                if not asked.get("stream"):
                    self._send("application/json")
                    self.wfile.write(json.dumps(_join_chunks(list(chunks))).encode())
                    return
                self._send("text/event-stream")
                for chunk in chunks:
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

        def _send(self, media_type: str) -> None:
            self.send_response(200)
            self.send_header("content-type", media_type)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    Thread(target=_end_with_input, daemon=True).start()
    model = RealModel(Path(sys.argv[1]))
    server = ThreadingHTTPServer((HOST, 0), build_handler(model))
    print(f"http://{HOST}:{server.server_port}", flush=True)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads what the model's library prints
    server.serve_forever()


if __name__ == "__main__":
    os.environ.update(THREADS, HF_HUB_OFFLINE="1", RUST_LOG="off")
    main()
