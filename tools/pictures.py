"""Make the pictures of README.md: docs/worst-cases.png and docs/serve.png.

The first has the proved worst-case regret of some rules for two forecasters, and the forecast of the default rule. The second is
the page of `robustpool serve` in Chromium; it needs what the tests need.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from robustpool.aggregators.worst_cases import worst_case_on_record
from robustpool.plots import draw_aggregator, new_figure
from robustpool.plots.style import BLUE, GREY, plain, png

ROOT = Path(__file__).parent.parent
WORST_CASES, SERVE = ROOT / "docs" / "worst-cases.png", ROOT / "docs" / "serve.png"
RULES = ("robust", "log-odds", "geometric-odds", "arieli-tuned", "average-prior", "product", "mean", "geometric-mean")
LOWER_BOUND = (5 * 5**0.5 - 11) / 8  # of every rule [Arieli2018]


def draw_worst_cases() -> None:
    """Bars and a heatmap."""
    figure, ((bars, heatmap),) = new_figure(columns=2, width=4.2, height=2.8)

    values = [worst_case_on_record(rule).upper for rule in RULES]
    drawn = bars.barh(RULES, values, color=[BLUE, *[GREY] * (len(RULES) - 1)])
    bars.bar_label(drawn, labels=[f"{value:.4f}" for value in values], padding=3, fontsize=8)
    bars.axvline(LOWER_BOUND, color=BLUE, linestyle="--", linewidth=1)
    bars.invert_yaxis()
    bars.set(xlim=(0, 0.08), xlabel="worst-case regret, two forecasters (proved, rounded)")
    bars.set_title("Dashed: the smallest worst case of any rule", fontsize=9)
    plain(bars)

    draw_aggregator("robust", heatmap)
    heatmap.set_title("Forecast of the rule robust", fontsize=9)
    WORST_CASES.write_bytes(png(figure, dpi=100))


def photograph_page() -> None:
    """The first screen of the page, with two named forecasters."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import chromium
    from servers import serving

    state = "f=70+%25&f=60+%25&n=Ann&n=Ben"
    with tempfile.TemporaryDirectory() as data, serving(Path(data)) as server, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{server.url}#{state}")
        page.wait_for_selector("body[data-shown^='#f=70']")
        page.screenshot(path=SERVE)


if __name__ == "__main__":
    draw_worst_cases()
    photograph_page()
