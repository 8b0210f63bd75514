"""Pictures of aggregators, bounds and structures: each function draws given numbers on the axes that it is given.

matplotlib is imported when something is drawn. Nothing here touches its global state: a figure comes from ``new_figure``,
or from pyplot in a notebook.
"""

from .convergence import draw_convergence as draw_convergence
from .convergence import draw_value_by_lipschitz as draw_value_by_lipschitz
from .coupling import draw_coupling as draw_coupling
from .heatmaps import draw_aggregator as draw_aggregator
from .heatmaps import draw_difference as draw_difference
from .heatmaps import draw_report_distribution as draw_report_distribution
from .heatmaps import draw_weakness as draw_weakness
from .losses import draw_losses as draw_losses
from .pools import draw_gain_over_time as draw_gain_over_time
from .pools import draw_weights as draw_weights
from .posterior import draw_areas as draw_areas
from .posterior import draw_posterior_by_prior as draw_posterior_by_prior
from .posterior import draw_posterior_by_reports as draw_posterior_by_reports
from .prior_ranges import draw_prior_ranges as draw_prior_ranges
from .scores import draw_differences as draw_differences
from .scores import draw_pairs as draw_pairs
from .scores import draw_reliability as draw_reliability
from .style import colour_bar as colour_bar
from .style import new_figure as new_figure
from .style import png as png
from .style import title as title
