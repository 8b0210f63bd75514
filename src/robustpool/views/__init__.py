"""One HTML file that a newcomer can send to a colleague: text, tables, pictures and a calculator, and nothing to load.

``page`` renders plain records, ``calculator`` tabulates what the sliders look up, ``lookup`` lists the profiles of a finite family, ``design_page`` tells of a design.
"""

from .page import Page, Picture, Section, Table, render, write_page

__all__ = ["Page", "Picture", "Section", "Table", "render", "write_page"]
