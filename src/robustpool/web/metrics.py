"""``GET metrics``: what the server did, as Prometheus reads it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse

router = APIRouter()

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
"""Upper ends of the latencies that are counted together, in seconds."""

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts of one server; each request adds to them once."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self.requests: Counter[tuple[str, str, int]] = Counter()  # by method, route and status
        self.latencies: dict[str, list[int]] = {}  # by route, one number for each bucket and one for what is longer
        self.seconds: dict[str, float] = {}  # by route
        self.in_flight = 0
        self.refused = 0  # because there was too much to do

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[method, route, status] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds
        counts = self.latencies.get(route)
        if counts is None:
            counts = self.latencies[route] = [0] * (len(BUCKETS) + 1)
        counts[bisect_left(BUCKETS, seconds)] += 1

    def lines(self, jobs: dict[str, int]) -> list[str]:
        """The text, line by line."""
        lines = _head("requests_total", "counter", "Requests that were answered.")
        for (method, route, status), count in sorted(self.requests.items()):
            lines.append(f'robustpool_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}')
        lines += _head("request_seconds", "histogram", "Seconds until a request was answered.")
        for route, counts in sorted(self.latencies.items()):
            total = 0
            for end, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += count
                lines.append(f'robustpool_request_seconds_bucket{{route="{route}",le="{end}"}} {total}')
            lines.append(f'robustpool_request_seconds_sum{{route="{route}"}} {self.seconds[route]!r}')
            lines.append(f'robustpool_request_seconds_count{{route="{route}"}} {total}')
        lines += _head("requests_in_flight", "gauge", "Requests that are being answered.")
        lines.append(f"robustpool_requests_in_flight {self.in_flight}")
        lines += _head("requests_refused_total", "counter", "Requests that got 429 because there was too much to do.")
        lines.append(f"robustpool_requests_refused_total {self.refused}")
        lines += _head("jobs", "gauge", "Jobs by state.")
        states = ("queued", "running")
        lines += [f'robustpool_jobs{{state="{state}"}} {jobs[state]}' for state in states]
        lines += _head("spare_workers", "gauge", "Processes that wait for a job.")
        lines.append(f"robustpool_spare_workers {jobs['spare']}")
        return lines


def _head(name: str, kind: str, words: str) -> list[str]:
    return [f"# HELP robustpool_{name} {words}", f"# TYPE robustpool_{name} {kind}"]


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> PlainTextResponse:
    """What the server did, as Prometheus reads it."""
    state = request.app.state
    return PlainTextResponse("\n".join(state.metrics.lines(state.jobs.count())) + "\n", media_type=MEDIA_TYPE)
