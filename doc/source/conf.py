"""How the documentation is built."""

import importlib.metadata
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "doc" / "ext"))

project = "tacker_cnf"
project_copyright = "the tacker_cnf developers"
release = version = importlib.metadata.version("tacker_cnf")

extensions = [
    "cliff.sphinxext",
    "openstackdocstheme",
    "oslo_config.sphinxext",
    "oslo_policy.sphinxext",
    "oslo_policy.sphinxpolicygen",
    "sphinx.ext.autodoc",
    "request_path",
    "tables_of_code",
]
# the commands are no plugin of another distribution
autoprogram_cliff_app_dist_name = "tacker_cnf"
html_theme = "openstackdocs"
openstackdocs_repo_name = "tacker_cnf"
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False
html_last_updated_fmt = None

policy_generator_config_file = [
    (
        str(ROOT / "etc" / "tacker_cnf" / "policy-generator.conf"),
        "_generated/policy",
    ),
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
