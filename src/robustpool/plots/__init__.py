"""Pictures of aggregators, bounds and structures: each function draws given numbers on the axes that it is given.

matplotlib is imported when something is drawn. Nothing here touches its global state: a figure comes from ``new_figure``,
or from pyplot in a notebook.
"""

from .convergence import draw_convergence, draw_value_by_lipschitz
from .coupling import draw_coupling
from .heatmaps import draw_aggregator, draw_difference, draw_report_distribution, draw_weakness
from .losses import draw_losses
from .posterior import draw_areas, draw_posterior_by_prior, draw_posterior_by_reports
from .scores import draw_differences, draw_pairs, draw_reliability
from .style import colour_bar, new_figure, png, title

__all__ = [
    "colour_bar",
    "draw_aggregator",
    "draw_areas",
    "draw_convergence",
    "draw_coupling",
    "draw_difference",
    "draw_differences",
    "draw_losses",
    "draw_pairs",
    "draw_posterior_by_prior",
    "draw_posterior_by_reports",
    "draw_reliability",
    "draw_report_distribution",
    "draw_value_by_lipschitz",
    "draw_weakness",
    "new_figure",
    "png",
    "title",
]
