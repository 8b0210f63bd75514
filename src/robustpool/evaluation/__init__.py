"""How good forecasts were: scores, calibration, differences between rules, and whether the theory's assumptions look right."""
