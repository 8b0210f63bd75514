"""Draw the picture of README.md and of the first page of the documentation: docs/worst-cases.png.

Left: the proved worst-case regret of some rules for two forecasters. Right: the forecast of the default rule.
"""

from __future__ import annotations

from pathlib import Path

from robustpool.aggregators.worst_cases import worst_case_on_record
from robustpool.plots import draw_aggregator, new_figure
from robustpool.plots.style import BLUE, GREY, plain, png

PICTURE = Path(__file__).parent.parent / "docs" / "worst-cases.png"
RULES = ("robust", "log-odds", "geometric-odds", "arieli-tuned", "average-prior", "product", "mean", "geometric-mean")
LOWER_BOUND = (5 * 5**0.5 - 11) / 8  # of every rule [Arieli2018]


def main() -> None:
    """Draw it."""
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
    PICTURE.write_bytes(png(figure, dpi=100))


if __name__ == "__main__":
    main()
