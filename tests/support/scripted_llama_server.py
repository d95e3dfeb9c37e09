"""A program that speaks llama-server's JSON and answers from a script.

Run as `python scripted_llama_server.py LOG [ARGUMENTS OF LLAMA-SERVER]`. What it is asked goes to
LOG, a JSON list `[path, body]` a line. A completion of `REFUSED` tokens is refused, one of `FATAL`
tokens ends the process, and one of a single token drafts nothing.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

REFUSED, FATAL = 13, 14
BOS, FIRST_BYTE = 1, 3
LOADING_PROBES = 2
"""Times that the model is still being loaded."""

PROPERTIES = {
    "default_generation_settings": {"n_ctx": 2048},
    "total_slots": 1,
    "chat_template": "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "build_info": "b7777-abcdef",
}
TIMINGS = {
    "cache_n": 0,
    "prompt_n": 21,
    "prompt_ms": 40.0,
    "prompt_per_token_ms": 1.9,
    "prompt_per_second": 525.0,
    "predicted_n": 9,
    "predicted_ms": 250.0,
    "predicted_per_token_ms": 31.25,
    "predicted_per_second": 32.0,
}


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """The answer of `/completion`."""
    drafted = {} if body["n_predict"] == 1 else {"draft_n": 12, "draft_n_accepted": 7}
    return {
        "index": 0,
        "content": "Hello there",
        "tokens": [5, 6, 7],
        "id_slot": 0,
        "stop": True,
        "model": "big.gguf",
        "tokens_predicted": 9,
        "tokens_evaluated": len(body["prompt"]),
        "generation_settings": {"n_predict": body["n_predict"], "seed": body["seed"]},
        "prompt": "",
        "has_new_line": False,
        "truncated": False,
        "stop_type": "limit",
        "stopping_word": "",
        "tokens_cached": 30,
        "timings": TIMINGS | drafted,
    }


class Handler(BaseHTTPRequestHandler):
    """The endpoints."""

    log = Path(os.devnull)
    probes = 0

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""

    def answer(self, value: Any, status: int = 200) -> None:
        """Send JSON."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code: int, message: str, kind: str) -> None:
        """Send an error as llama-server does."""
        self.answer({"error": {"code": code, "message": message, "type": kind}}, code)

    def do_GET(self) -> None:
        """`/health` and `/props`."""
        if self.path == "/props":
            self.answer(PROPERTIES)
            return
        Handler.probes += 1
        if Handler.probes <= LOADING_PROBES:
            self.refuse(503, "Loading model", "unavailable_error")
        else:
            self.answer({"status": "ok"})

    def do_POST(self) -> None:
        """`/tokenize` and `/completion`."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.log.open("a") as out:
            print(json.dumps([self.path, body]), file=out)
        if self.path == "/tokenize":
            ids = [FIRST_BYTE + byte for byte in body["content"].encode()]
            self.answer({"tokens": [BOS, *ids] if body["add_special"] else ids})
        elif body["n_predict"] == REFUSED:
            self.refuse(400, "unlucky", "invalid_request_error")
        elif body["n_predict"] == FATAL:
            os._exit(9)
        else:
            self.answer(completion(body))


def main(log: str, *arguments: str) -> None:
    """Serve, or say what the options ask for."""
    if "--help" in arguments:
        print("-c,  --ctx-size N   size of the prompt context")
    elif "--version" in arguments:
        print("version: 7777 (abcdef)", file=sys.stderr)
    elif "--broken" in arguments:
        print("error: no such model", file=sys.stderr)
        sys.exit(3)
    else:
        Handler.log = Path(log)
        port = int(arguments[arguments.index("--port") + 1])
        HTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
