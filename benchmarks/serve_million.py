"""Many decisions through a service without HTTP: `python -m benchmarks.serve_million DATABASE PAIRS`.

Prints the memory of the process after each tenth, in megabytes, and ends as kill -9 would.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys

from allais.serve.api.schemas import Decide, ExperimentSettings, Reward
from allais.serve.core.decisions import decide, reward
from allais.serve.core.experiments import create
from allais.serve.core.keys import Key
from allais.serve.core.service import Service
from allais.serve.settings_file import ServerSettings
from allais.serve.store.database import Database
from benchmarks.timing import megabytes

CALLERS = 200
SETTINGS = {
    "policy": {"type": "NPTS"},
    "arms": ["A21", "A28", "B7"],
    "preference": {"gains": {"type": "TverskyKahneman", "eta": 0.61}},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 60.0},
    "seed": 1,
}


async def main(database: str, pairs: int) -> None:
    service = Service(ServerSettings(database=database), Database(database))
    await service.start()
    await create(service, "routes", ExperimentSettings.model_validate(SETTINGS), Key("x", "x", "x", (), 0.0, None))
    rng, left, seen = random.Random(1), pairs, [megabytes()]

    async def caller() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            if left % (pairs // 10) == 0:
                seen.append(megabytes())
            choice = await decide(service, "routes", Decide())
            await reward(service, "routes", Reward(choice=choice["choice"], outcome=60.0 * rng.random()))

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    print(json.dumps(seen), flush=True)
    os._exit(9)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
