"""The learner of `tail_routing.py` as a custom routing strategy of LiteLLM's own router.

    from litellm import Router
    from litellm_strategy import install

    router = Router(model_list=[...], timeout=30)
    install(router, NPTS(quantile(0.95, costs=True), Bounded(0, 60), memory=Recent(10_000)), seed=1)

Deployments are known by `model_info["id"]`. A request that ran into the time-out of the router is told as "at least so
long"; one that failed for another reason counts for nothing.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from datetime import datetime
from typing import Any

import litellm
from litellm import Router
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import CustomRoutingStrategyBase

from allais import NPTS
from allais.learner import Choice


class TailStrategy(CustomRoutingStrategyBase):
    """Chooses deployments of one model group."""

    def __init__(self, router: Router, policy: NPTS, seed: int) -> None:
        self._deployments = {one["model_info"]["id"]: one for one in router.model_list}
        self.learner = policy.start(list(self._deployments), seed)
        self._out: defaultdict[str, deque[Choice]] = defaultdict(deque)  # requests of one deployment are alike
        self._lock = threading.Lock()

    def get_available_deployment(self, model: str, *arguments: Any, **settings: Any) -> Any:
        """The deployment of the next request."""
        choice = self.learner.ask()
        with self._lock:
            self._out[str(choice.arm)].append(choice)
        return self._deployments[choice.arm]

    async def async_get_available_deployment(self, model: str, *arguments: Any, **settings: Any) -> Any:
        """The deployment of the next request."""
        return self.get_available_deployment(model)

    def tell(self, deployment: str, seconds: float, error: BaseException | None = None) -> None:
        """What became of a request to a deployment."""
        with self._lock:
            if not self._out[deployment]:
                return  # a retry that the router chose by itself
            choice = self._out[deployment].popleft()
        if error is None:
            self.learner.tell(choice, seconds)
        elif isinstance(error, litellm.Timeout | TimeoutError):
            self.learner.tell(choice, at_least=seconds, final=True)
        else:
            self.learner.cancel(choice)


class Listener(CustomLogger):
    """Hears from LiteLLM how long requests took."""

    def __init__(self, strategy: TailStrategy) -> None:
        super().__init__()
        self._strategy = strategy

    def _heard(self, kwargs: dict[str, Any], start: datetime, end: datetime, error: BaseException | None) -> None:
        info = (kwargs.get("litellm_params") or {}).get("model_info") or {}
        if "id" in info:
            self._strategy.tell(info["id"], (end - start).total_seconds(), error)

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """A request was answered."""
        self._heard(kwargs, start_time, end_time, None)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """A request was answered."""
        self._heard(kwargs, start_time, end_time, None)

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """A request failed, or took too long."""
        self._heard(kwargs, start_time, end_time, kwargs.get("exception") or RuntimeError("failed"))

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """A request failed, or took too long."""
        self._heard(kwargs, start_time, end_time, kwargs.get("exception") or RuntimeError("failed"))


def install(router: Router, policy: NPTS, seed: int) -> TailStrategy:
    """Let a router choose by a policy from now on."""
    strategy = TailStrategy(router, policy, seed)
    router.set_custom_routing_strategy(strategy)
    litellm.callbacks.append(Listener(strategy))
    return strategy
