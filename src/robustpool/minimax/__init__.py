"""The table of minimax regrets: ``rows.toml`` says what each row is, ``record.json`` has the bounds that were computed."""
