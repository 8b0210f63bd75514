"""The web page and the HTTP API: parse, one call, show. No mathematics here, and no sentences of its own."""
