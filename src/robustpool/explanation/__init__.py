"""Why a forecast is what it is."""
