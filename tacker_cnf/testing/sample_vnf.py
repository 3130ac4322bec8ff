"""A VNF for the conformance suite, for drivers that read no file of its
package. Others unpack a package of theirs by ``vnf_operation.unpack``.
"""

from pathlib import Path
from typing import Final

from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.vnfd.model import Aspect, Flavour, Vdu, Vnfd

VDU: Final = "web"
#: the aspect by which the VDU is scaled
ASPECT: Final = "web_aspect"
REQUEST: Final = InstantiateVnfRequest(flavour_id="simple")
MAX_SCALE_LEVEL: Final = 4


def load_configuration(folder: Path) -> cfg.ConfigOpts:
    """Return the default configuration of the service.

    :param folder: a directory, whose *.conf files are read
    """
    return configuration.load(["--config-dir", str(folder)])


def create_package(folder: Path) -> UnpackedPackage:
    """Return a package with one VDU that can be scaled, and no files.

    :param folder: an empty directory
    """
    vdu = Vdu(
        id=VDU, name=VDU, min_instances=1, max_instances=1 + MAX_SCALE_LEVEL
    )
    aspect = Aspect(
        id=ASPECT,
        name=ASPECT,
        max_scale_level=MAX_SCALE_LEVEL,
        step_deltas=("one",),
        deltas={VDU: {"one": 1}},
    )
    flavour = Flavour(
        id=REQUEST.flavour_id,
        vdus={VDU: vdu},
        aspects={ASPECT: aspect},
        initial_deltas={VDU: 1},
    )
    vnfd = Vnfd(
        id="3c9e7f2a-51d4-4b8e-9a06-d7f81b2c4e63",
        provider="tacker_cnf",
        product_name="sample",
        software_version="1.0",
        descriptor_version="1.0",
        flavours={flavour.id: flavour},
    )
    return UnpackedPackage(content_id="sample", path=folder, vnfd=vnfd)
