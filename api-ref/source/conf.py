"""How the API reference is built."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "ext"))

project = "tacker_cnf API Reference"
project_copyright = "the tacker_cnf developers"

extensions = ["os_api_ref", "openstackdocstheme", "route_check"]
html_extra_path = ["openapi.json"]
html_theme = "openstackdocs"
html_theme_options = {
    "sidebar_mode": "toc",
    "display_badge": False,
    "display_global_toc_section": False,
}
openstackdocs_repo_name = "tacker_cnf"
openstackdocs_auto_name = False
openstackdocs_pdf_link = False
html_last_updated_fmt = None
