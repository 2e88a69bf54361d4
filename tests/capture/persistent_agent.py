"""An agent that asks each turn by its id until it is answered: what a killed gateway has to satisfy."""

import asyncio
from typing import Any

import aiohttp


class PersistentAgent:
    """One run. `url`: up to the version, e.g. http://127.0.0.1:8765/v1."""

    def __init__(self, session: aiohttp.ClientSession, url: str, run: str) -> None:
        self._session, self._url, self.run = session, url, run
        self.told: list[tuple[str, int]] = []  # (turn id, tokens of the whole call) of every acknowledged turn
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": f"hello from {run or 'root'}"}]

    async def turn(self) -> None:
        """One call, asked until it is answered."""
        turn = f"{self.run or 'root'}-{len(self.told)}"
        headers = {"X-Journeyman-Turn": turn} | ({"X-Journeyman-Run": self.run} if self.run else {})
        body = {"messages": self.messages}
        while True:
            try:
                async with self._session.post(f"{self._url}/chat/completions", json=body, headers=headers) as response:
                    answer = await response.json()
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(0.005)
                continue
            assert response.status == 200, answer
            assert answer["x_journeyman"]["turn_id"] == turn
            self.told.append((turn, answer["usage"]["total_tokens"]))
            self.messages += [answer["choices"][0]["message"], {"role": "user", "content": "and then"}]
            return
