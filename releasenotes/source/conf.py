"""Sphinx configuration of the release notes."""

# ruff: noqa: INP001 - Sphinx reads this file; it is not imported

project = "tacker_cnf Release Notes"
project_copyright = "the tacker_cnf developers"

extensions = ["openstackdocstheme", "reno.sphinxext"]
html_theme = "openstackdocs"
openstackdocs_repo_name = "tacker_cnf"
openstackdocs_auto_name = False
openstackdocs_pdf_link = False
html_last_updated_fmt = None
