"""Replicas of a model behind one OpenAI address, as many as the queue asks for, by Ray Serve.

    WARPSMITH_MODEL=smollm2.gguf serve run serve:app          # http://127.0.0.1:8000/v1

Each replica runs `warpsmith serve` on a free port of its machine and hands requests on to it, streams included; one that does
not answer /health is replaced. The program is found on the path, or named by WARPSMITH_PROGRAM.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import AsyncIterator

import aiohttp
from ray import serve
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

#: Headers that are of one connection.
OF_CONNECTIONS = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


def options(name: str, otherwise: float) -> float:
    return float(os.environ.get(name, otherwise))


@serve.deployment(
    max_ongoing_requests=int(options("WARPSMITH_ONGOING", 64)),
    autoscaling_config={
        "min_replicas": int(options("WARPSMITH_LEAST", 1)),
        "max_replicas": int(options("WARPSMITH_MOST", 4)),
        # Requests that a replica runs or has waiting, before there is another one.
        "target_ongoing_requests": options("WARPSMITH_EACH", 16),
    },
    health_check_period_s=5,
    graceful_shutdown_timeout_s=90,
)
class Server:
    def __init__(self) -> None:
        program = os.environ.get("WARPSMITH_PROGRAM") or shutil.which("warpsmith")
        if program is None:
            raise RuntimeError("no `warpsmith` on the path; WARPSMITH_PROGRAM names it")
        command = [program, "serve", "--port", "0"]
        for variable, option in (("WARPSMITH_MODEL", "--model"), ("WARPSMITH_WHISPER", "--whisper")):
            if os.environ.get(variable):
                command += [option, os.environ[variable]]
        command += os.environ.get("WARPSMITH_OPTIONS", "").split()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"the server ended before it was ready: {self.process.wait()}")
        self.address = line[line.index("http://") :].strip()
        self.session: aiohttp.ClientSession | None = None

    def client(self) -> aiohttp.ClientSession:
        if self.session is None:
            # Answers take as long as they take.
            self.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        return self.session

    async def check_health(self) -> None:
        async with self.client().get(f"{self.address}/health") as answer:
            answer.raise_for_status()

    async def __call__(self, request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name not in OF_CONNECTIONS}
        address = f"{self.address}{request.url.path}"
        answer = await self.client().request(
            request.method, address, params=request.query_params, headers=headers, data=await request.body()
        )
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in OF_CONNECTIONS}

        async def parts() -> AsyncIterator[bytes]:
            # A client that goes away closes this, and with it the request.
            async with answer:
                async for part in answer.content.iter_any():
                    yield part

        return StreamingResponse(parts(), status_code=answer.status, headers=kept)

    def __del__(self) -> None:
        # Requests that were begun are finished.
        self.process.terminate()


app = Server.bind()
