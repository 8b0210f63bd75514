"""What surrounds a computation: threads of BLAS change no bit, and the memory of a Dask worker is not given back at once."""

from __future__ import annotations

import os
import platform
import sys

import pytest

from programs import run_python
from robustpool import cli

LONG_SUMS = """
import robustpool as rp
family = rp.ConditionallyIndependent(2, 14, 200)  # 23,000 structures; BLAS divides sums of more than 10,000
solution = rp.solve(family, method="multiplicative-weights", tolerance=0.0, rounds=4)
print(solution.lower.hex(), solution.upper.hex(), solution.aggregator.values.tobytes().hex())
"""


def test_a_sum_over_all_structures_does_not_depend_on_threads() -> None:
    one, two = (
        run_python("-c", LONG_SUMS, env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads})
        for threads in "12"
    )
    assert one.stdout, one.stderr
    assert one.stdout == two.stdout


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("3", "3")])
def test_the_command_line_computes_with_one_thread_of_blas(
    before: str | None, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in cli.BLAS_THREADS:
        monkeypatch.setenv(name, before or "")  # whatever comes now is undone afterwards
        if before is None:
            monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "argv", ["robustpool", "0.7", "0.6"])
    with pytest.raises(SystemExit):
        cli.main()
    assert [os.environ[name] for name in cli.BLAS_THREADS] == [after] * 3


REUSED = """
import resource, sys
import numpy as np
from robustpool.execution.cluster import keep_memory
if sys.argv[1] == "keeps":
    assert keep_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    np.ones(500_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are those of the C library of GNU")
def test_a_worker_keeps_memory_although_dask_says_otherwise() -> None:
    """Counted in pages that the system had to fetch: 200 arrays of 4 MB have 1,000 each."""
    as_dask = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    kept, fetched = (int(run_python("-c", REUSED, way, env=as_dask).stdout) for way in ("keeps", "fetches"))
    assert kept < 0.1 * fetched
