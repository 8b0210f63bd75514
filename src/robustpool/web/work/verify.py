"""A certificate checked as a job: by the verifier, as `robustpool verify` does, and by the referee's checker if it is wanted."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from ... import referee
from ...verification.verify import verify
from ...views import results

if TYPE_CHECKING:
    from pathlib import Path

    from ..jobs.task import Task

FILE = "certificate.json"
SECONDS = 60.0
"""For the referee's checker; it has limits of its own, and all that it accepts takes less."""

NOTHING = "There is nothing to check."
PARTLY = "Not checked: "
"""How a line of the referee's checker begins if it proves only some of the bounds."""

OUTCOMES = {True: "proves the same bounds", False: "refuses it", None: "does not check certificates of this kind"}


def run(task: Task) -> dict[str, Any]:
    """The verdict on the certificate that was uploaded; a file that is none is an `InputError`."""
    file = task.uploads / FILE
    began = time.perf_counter()
    verdict = verify(file.read_bytes(), lambda share: task.progress({"share": share}))
    seconds = time.perf_counter() - began
    data, _ = results.verdict(verdict, seconds)
    sentence = verdict.sentence[:1].upper() + verdict.sentence[1:]
    data["summary"] = f"{sentence} The verifier took {seconds:.1f} s."
    return data | ({"referee": second_opinion(file)} if task.options.get("referee") else {})


def second_opinion(file: Path, seconds: float = SECONDS) -> dict[str, Any]:
    """What the referee's checker says, in a process of its own: ``agrees`` is None where it does not check every bound."""
    began = time.perf_counter()
    command = [sys.executable, "-P", referee.__file__, str(file)]  # -P: beside that file lie modules with common names
    agrees: bool | None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        agrees, text = done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr
    except subprocess.TimeoutExpired:
        agrees, text = False, f"The check took longer than {seconds:g} s and was stopped."
    text = text.strip()
    if text in (referee.UNCHECKED, NOTHING):
        agrees = None
    outcome = OUTCOMES[agrees]
    if agrees and any(line.startswith(PARTLY) for line in text.splitlines()):
        agrees, outcome = None, "proves the bounds for all aggregators, and does not check those of this one"
    took = time.perf_counter() - began
    summary = f"The referee's checker {outcome}. It took {took:.1f} s."
    return {"agrees": agrees, "summary": summary, "sentences": text.splitlines(), "seconds": took}
