"""The parameters by which nodes are reached and installed: the object
``k8s_cluster_installation_param`` of a request's additionalParams.
"""

import ipaddress
import posixpath
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import merge
from tacker_cnf.mgmt_drivers.remote import Login

#: the attribute of additionalParams
PARAMETER_NAME: Final = "k8s_cluster_installation_param"
#: attributes of additionalParams beside it -> group and attribute of the login
#: that they override
_LOGIN_OVERRIDES: Final = {
    "master_node_username": ("master_node", "username"),
    "master_node_password": ("master_node", "password"),
    "worker_node_username": ("worker_node", "username"),
    "worker_node_password": ("worker_node", "password"),
}

#: parameters that apply to the operation of the request only
REQUEST_SCOPED: Final = frozenset(
    {"drain", "boot_timeout", "command_timeout", "install_timeout"}
)

#: parameters of Tacker's drivers that are not supported -> what they are for
UNSUPPORTED: Final = {
    "ansible": "Kubespray is not run; let script_path install a node",
    "external_lb_param": "HAProxy runs on the masters, where script_path "
    "installs it, and not on a VM of its own",
    "helm_installation_script_path": "Helm is not installed by this service; "
    "let script_path install it",
    "private_registry_connection_info": "nodes are not logged in to "
    "registries; let script_path configure the container runtime",
    "pv_registration_params": "PersistentVolumes are not registered; create "
    "them as a CNF in the cluster, or by script_path on a master",
    "storage_server": "no NFS server is installed; let script_path mount one "
    "that exists",
}
#: maximum number of files in an error
MAX_NAMES: Final = 20

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
Seconds = Annotated[float, msgspec.Meta(ge=1)]


class _StrictStruct(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """Rejects unknown attributes, such as misspelled ones."""


class NodeGroup(_StrictStruct, frozen=True, kw_only=True):
    """The VMs of one VDU: the masters or the workers."""

    vdu_id: Text
    #: accepted as Tacker's packages have it, and not used
    aspect_id: str | None = None
    #: the resource of the stack with the address for SSH: a port or a
    #: floating IP
    ssh_cp_name: Text
    #: the port with the address that the nodes use among each other
    nic_cp_name: Text
    username: Text
    password: str | None = None
    #: PEM; RSA, ECDSA or Ed25519
    private_key: str | None = None

    @property
    def login(self) -> Login:
        return Login(
            username=self.username,
            password=self.password,
            private_key=self.private_key,
        )


class MasterGroup(NodeGroup, frozen=True, kw_only=True):
    """The masters."""

    #: networks (CIDR) of the pods and of the services
    pod_cidr: str = "192.168.0.0/16"
    cluster_cidr: str = "10.96.0.0/12"
    #: the port with the cluster's virtual IP address, which fails over
    #: between the masters
    cluster_cp_name: Text
    #: its floating IP, for clients outside of the network
    cluster_fip_name: str | None = None


class Proxy(_StrictStruct, frozen=True, kw_only=True):
    """The proxy through which nodes reach package repositories."""

    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    #: network (CIDR) of the nodes, added to no_proxy
    k8s_node_cidr: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        bypass = [part for part in (self.no_proxy, self.k8s_node_cidr) if part]
        variables = {
            "http_proxy": self.http_proxy,
            "https_proxy": self.https_proxy,
            "no_proxy": ",".join(bypass),
        }
        return {name: value for name, value in variables.items() if value}


class Drain(_StrictStruct, frozen=True, kw_only=True):
    """How to drain a node before it is removed."""

    #: seconds for the eviction of its pods, and until they run elsewhere
    timeout: Seconds = 300.0
    #: whether to delete pods though a PodDisruptionBudget forbids eviction
    disable_eviction: bool = False


class InstallationParameters(_StrictStruct, frozen=True, kw_only=True):
    """k8s_cluster_installation_param."""

    #: path in the package of the script that installs a node
    script_path: Text
    #: name under which the cluster is registered as a VIM
    vim_name: Text | None = None
    master_node: MasterGroup
    worker_node: NodeGroup
    proxy: Proxy = Proxy()
    drain: Drain = Drain()
    #: seconds until SSH of a new VM responds, for a command that waits for
    #: nothing, and for the installation of a node
    boot_timeout: Seconds = 300.0
    command_timeout: Seconds = 60.0
    install_timeout: Seconds = 2700.0

    def group_of(self, vdu_id: str) -> NodeGroup | None:
        """Return the group of a VDU; None: its VMs are no nodes."""
        groups = (self.master_node, self.worker_node)
        return next((g for g in groups if g.vdu_id == vdu_id), None)


def merge_parameters(
    stored: Mapping[str, Any] | None,
    additional_params: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Merge the parameters of a request into those of earlier ones.

    :param stored: k8s_cluster_installation_param of earlier requests
    :param additional_params: of the request
    :raises InvalidParameters: k8s_cluster_installation_param is no object
    """
    additional_params = additional_params or {}
    requested = additional_params.get(PARAMETER_NAME) or {}
    if not isinstance(requested, dict):
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME}: expected an object, got "
            f"{type(requested).__name__}."
        )
    overrides: dict[str, dict[str, Any]] = {}
    for name, (group, attribute) in _LOGIN_OVERRIDES.items():
        if additional_params.get(name) is not None:
            overrides.setdefault(group, {})[attribute] = additional_params[
                name
            ]
    return merge.patched(merge.patched(stored or {}, requested), overrides)


def persistent_parameters(
    stored: Mapping[str, Any], requested: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters to store for later operations: all of this
    request, but those in REQUEST_SCOPED as the first request had them.
    """
    if not stored:
        return dict(requested)
    persistent = {
        k: v for k, v in requested.items() if k not in REQUEST_SCOPED
    }
    return persistent | {
        k: v for k, v in stored.items() if k in REQUEST_SCOPED
    }


def read(values: Mapping[str, Any], package: Path) -> InstallationParameters:
    """Parse and validate the parameters.

    :raises InvalidParameters: one is missing, invalid or unknown
    """
    if not values:
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME} is missing in this request and "
            "in the earlier ones of the VNF instance."
        )
    for name in UNSUPPORTED.keys() & values.keys():
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME}.{name} is not supported: "
            f"{UNSUPPORTED[name]}, and remove the parameter."
        )
    try:
        parameters = msgspec.convert(values, InstallationParameters)
    except msgspec.ValidationError as error:
        message = str(error).replace(
            "`$", f"`additionalParams.{PARAMETER_NAME}"
        )
        raise errors.InvalidParameters(f"{message}.") from None
    _check_networks(parameters.master_node)
    _check_proxy(parameters.proxy)
    for name in ("master_node", "worker_node"):
        _check_login(name, getattr(parameters, name))
    if parameters.master_node.vdu_id == parameters.worker_node.vdu_id:
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME}: master_node and worker_node have "
            f"the same vdu_id, {parameters.master_node.vdu_id}."
        )
    script(parameters, package)
    return parameters


def script(
    parameters: InstallationParameters,
    package: Path,
    named_files: Collection[str] | None = None,
) -> bytes:
    """Return the content of the installation script.

    :param named_files: those that the package names; None: any may be used
    :raises InvalidParameters: the package has no file of this path, or does
        not name it
    """
    if (
        named_files is not None
        and posixpath.normpath(parameters.script_path) not in named_files
    ):
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME}.script_path: "
            f"{parameters.script_path} is not a file that the VNFD, TOSCA.meta "
            "or the manifest names: "
            f"{', '.join(sorted(named_files)[:MAX_NAMES]) or 'none'}."
        )
    path = (package / parameters.script_path).resolve()
    if not path.is_relative_to(package.resolve()) or not path.is_file():
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME}.script_path: the package has no file "
            f"{parameters.script_path}."
        )
    return path.read_bytes()


def _check_networks(masters: MasterGroup) -> None:
    for name in ("pod_cidr", "cluster_cidr"):
        try:
            ipaddress.ip_network(getattr(masters, name))
        except ValueError as error:
            raise errors.InvalidParameters(
                f"additionalParams.{PARAMETER_NAME}.master_node.{name}: {error}."
            ) from None


def _check_proxy(proxy: Proxy) -> None:
    for name in ("http_proxy", "https_proxy"):
        if "@" in (getattr(proxy, name) or ""):
            raise errors.InvalidParameters(
                f"additionalParams.{PARAMETER_NAME}.proxy.{name} contains a user "
                "or a password, which every client that may read the operation "
                "would see. Use a proxy without a login."
            )


def _check_login(name: str, group: NodeGroup) -> None:
    try:
        _ = group.login
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(
            f"additionalParams.{PARAMETER_NAME}.{name}: {error}"
        ) from None
