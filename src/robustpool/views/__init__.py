"""Every result as plain data (JSON), as lines for a terminal, and as one HTML file that loads nothing.

``page`` renders plain records, ``calculator`` tabulates what the sliders look up, ``lookup`` lists the profiles of a
finite family, ``results``, ``explanation``, ``comparison`` and ``tables`` have the JSON objects and lines of the commands.
"""

from .page import Page, Picture, Section, Table, render, write_page

__all__ = ["Page", "Picture", "Section", "Table", "render", "write_page"]
