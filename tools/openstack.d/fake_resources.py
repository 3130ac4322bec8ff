"""A Heat plugin: fake servers, networks, ports and volumes with Heat's own
schemas.

Tests inject faults by files in the directory FAKE_RESOURCES_FAULTS.
``TENANT/RESOURCE.fail`` makes creation and update of a resource fail with the
text of the file, ``TENANT/RESOURCE.keep`` its deletion. While
``TENANT/RESOURCE.hold`` exists, the resource stays in progress. A server in the
zone ``full`` gets no valid host.

Ports and floating IPs get addresses of 198.19.0.0/20, or of the CIDR in the
file ``subnets/TENANT`` in the directory FAKE_RESOURCES_CLOUD. That directory
also has the attributes of existing resources as JSON: ``ports/TENANT/ID``,
``servers/TENANT/ID`` and ``floating/TENANT/ID``.
"""

import contextlib
import copy
import ipaddress
import json
import os
import pathlib
import uuid

from heat.common import exception
from heat.engine import constraints, properties, resource
from heat.engine.resources.openstack.cinder import volume, volume_type
from heat.engine.resources.openstack.neutron import (
    floatingip,
    net,
    port,
    subnet,
)
from heat.engine.resources.openstack.nova import server

FAULTS = pathlib.Path(os.environ["FAKE_RESOURCES_FAULTS"])
CLOUD = pathlib.Path(os.environ["FAKE_RESOURCES_CLOUD"])
SUBNET = "198.19.0.0/20"


def without_constraints(schema):
    """Return a schema without the constraints that query a cloud."""
    schema = copy.copy(schema)
    schema.constraints = [
        constraint
        for constraint in schema.constraints
        if not isinstance(constraint, constraints.CustomConstraint)
    ]
    if isinstance(schema.schema, constraints.AnyIndexDict):
        inner = without_constraints(schema.schema.value)
        schema.schema = constraints.AnyIndexDict(inner)
    elif schema.schema:
        schema.schema = {
            k: without_constraints(v) for k, v in schema.schema.items()
        }
    return schema


class FakeResource(resource.Resource):
    """A resource that is complete at once."""

    def fault(self, kind):
        return FAULTS / self.context.project_id / f"{self.name}.{kind}"

    def fail(self):
        reason = self.fault("fail")
        if reason.exists():
            raise exception.ResourceInError(
                resource_status="ERROR",
                status_reason=reason.read_text().strip(),
            )
        zone = "availability_zone"
        if zone in self.properties.props and self.properties[zone] == "full":
            raise exception.ResourceInError(
                resource_status="ERROR",
                status_reason="No valid host was found.",
            )

    def is_done(self, _):
        return not self.fault("hold").exists()

    check_create_complete = is_done
    check_update_complete = is_done

    def handle_create(self):
        self.fail()
        self.resource_id_set(str(uuid.uuid4()))

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self.fail()

    def handle_delete(self):
        reason = self.fault("keep")
        if reason.exists():
            raise exception.Error(reason.read_text().strip())

    def handle_check(self):
        pass

    def get_live_state(self, resource_properties):
        return {}

    def _resolve_any_attribute(self, name):
        if name in {"show", "addresses", "networks"}:
            return {}
        values = self.properties
        return values.get(name) if name in values.props else None


class Subnet:
    """The addresses for a tenant's ports."""

    def __init__(self, tenant):
        self._tenant = tenant
        self._taken = CLOUD / "addresses" / tenant

    def allocate(self, owner, requested=None):
        """Allocate the requested address, or a free one.

        The search starts after the last allocated one, so that addresses are
        not reused at once.
        """
        self._taken.mkdir(parents=True, exist_ok=True)
        cidr_file = CLOUD / "subnets" / self._tenant
        cidr = cidr_file.read_text() if cidr_file.exists() else SUBNET
        # the first address is for the router
        _, *free = map(str, ipaddress.ip_network(cidr.strip()).hosts())
        last = self._taken / ".last"
        last_address = last.read_text() if last.exists() else None
        if last_address in free:
            begin = free.index(last_address) + 1
            free = free[begin:] + free[:begin]
        for address in [requested] if requested else free:
            with contextlib.suppress(FileExistsError):
                with (self._taken / address).open("x") as file:
                    file.write(owner)
                if not requested:
                    # replaced atomically, as other processes read it
                    new = self._taken / f".{address}"
                    new.write_text(address)
                    new.replace(last)
                return address
        raise exception.Error(
            f"IP address {requested} already allocated in subnet {cidr}"
            if requested
            else f"No more IP addresses available in subnet {cidr}"
        )

    def release(self, addresses):
        for address in addresses:
            (self._taken / address).unlink(missing_ok=True)


class VisibleResource(FakeResource):
    """A resource whose attributes are in a file while it exists."""

    folder = None

    def file(self, folder=None, name=None):
        place = CLOUD / (folder or self.folder) / self.context.project_id
        return place / (name or self.resource_id)

    def read(self, folder=None, name=None):
        """Return the attributes in a file; {} if it does not exist."""
        try:
            return json.loads(self.file(folder, name).read_text())
        except FileNotFoundError:
            return {}

    def show(self, **attributes):
        """Write the attributes to the file, atomically."""
        file = self.file()
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f".{file.name}")
        about = {"id": self.resource_id, "tenant": self.context.project_id}
        new.write_text(json.dumps({**about, **attributes}))
        new.rename(file)

    def hide(self):
        self.file().unlink(missing_ok=True)

    @property
    def subnet(self):
        return Subnet(self.context.project_id)

    def publish(self, values):
        """Write the file for these properties."""
        raise NotImplementedError

    def unpublish(self):
        """Delete the file and release the addresses."""
        self.hide()

    def handle_create(self):
        super().handle_create()
        self.publish(dict(self.properties))

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        super().handle_update(json_snippet, tmpl_diff, prop_diff)
        if prop_diff:
            self.unpublish()
            self.publish({**self.properties, **prop_diff})

    def handle_delete(self):
        super().handle_delete()
        if self.resource_id:
            self.unpublish()


class Port(VisibleResource):
    folder = "ports"

    def publish(self, values):
        fixed = [
            {
                "ip_address": self.subnet.allocate(
                    self.resource_id, one.get("ip_address")
                ),
                "subnet_id": one.get("subnet"),
            }
            for one in values.get("fixed_ips") or [{}]
        ]
        self.show(network=values.get("network"), fixed_ips=fixed)

    def unpublish(self):
        fixed = self.read().get("fixed_ips", ())
        self.subnet.release(one["ip_address"] for one in fixed)
        super().unpublish()

    def prepare_for_replace(self):
        """Release the addresses for the replacement."""
        # without a file if its creation was interrupted
        if old_port := self.resource_id and self.read():
            self.data_set("fixed_ips", json.dumps(old_port["fixed_ips"]))
            self.unpublish()
            self.show(**{**old_port, "fixed_ips": []})

    def restore_prev_rsrc(self, *, convergence=False):
        """Allocate the released addresses again."""
        other, *_ = resource.Resource.load(
            self.context,
            self.replaced_by,
            self.stack.current_traversal,
            is_update=True,
            data=self.stack.defn._resource_data,  # noqa: SLF001
        )
        if other.resource_id:
            other.unpublish()
        fixed = json.loads(self.data().get("fixed_ips", "[]"))
        if fixed and self.resource_id:
            for one in fixed:
                self.subnet.allocate(self.resource_id, one["ip_address"])
            self.show(**{**self.read(), "fixed_ips": fixed})

    def _resolve_any_attribute(self, name):
        if name == "fixed_ips":
            return self.read().get("fixed_ips")
        if name == "show":
            return self.read()
        return super()._resolve_any_attribute(name)


class FloatingIP(VisibleResource):
    folder = "floating"

    def publish(self, values):
        address = self.data().get("address")
        if address is None:
            requested = values.get("floating_ip_address")
            address = self.subnet.allocate(self.resource_id, requested)
            self.data_set("address", address)
        self.show(address=address, port=values.get("port_id"))

    def handle_delete(self):
        address = self.read().get("address") if self.resource_id else None
        super().handle_delete()
        if address:
            self.subnet.release([address])

    def _resolve_any_attribute(self, name):
        if name == "floating_ip_address":
            return self.data().get("address")
        return super()._resolve_any_attribute(name)


class Server(VisibleResource):
    folder = "servers"
    physical_resource_name_limit = server.Server.physical_resource_name_limit

    def publish(self, values):
        networks = [
            self._plugged(one, number)
            for number, one in enumerate(values.get("networks") or ())
        ]
        name = values.get("name") or self.physical_resource_name()
        self.show(name=name, networks=networks)

    def _plugged(self, requested, number):
        """Return a network interface: of a port, or with its own address."""
        if requested.get("port"):
            port_data = self.read("ports", requested["port"])
            fixed = [
                one["ip_address"] for one in port_data.get("fixed_ips", ())
            ]
            network = port_data.get("network")
            return {
                "port": requested["port"],
                "network": network,
                "addresses": fixed,
            }
        own = f"{self.resource_id}-{number}"
        address = self.subnet.allocate(own, requested.get("fixed_ip"))
        return {
            "port": own,
            "network": requested.get("network"),
            "addresses": [address],
            "is_own": True,
        }

    def unpublish(self):
        for one in self.read().get("networks", ()):
            if one.get("is_own"):
                self.subnet.release(one["addresses"])
        super().unpublish()

    def _resolve_any_attribute(self, name):
        plugged = self.read().get("networks", ())
        if name in {"first_address", "accessIPv4"}:
            return next((a for one in plugged for a in one["addresses"]), "")
        if name == "networks":
            return {one["network"]: one["addresses"] for one in plugged}
        return super()._resolve_any_attribute(name)


REAL = {
    "OS::Nova::Server": (Server, server.Server),
    "OS::Neutron::FloatingIP": (FloatingIP, floatingip.FloatingIP),
    "OS::Neutron::Net": (FakeResource, net.Net),
    "OS::Neutron::Subnet": (FakeResource, subnet.Subnet),
    "OS::Neutron::Port": (Port, port.Port),
    "OS::Cinder::Volume": (FakeResource, volume.CinderVolume),
    "OS::Cinder::VolumeType": (FakeResource, volume_type.CinderVolumeType),
}


def fake_class(kind, real):
    schemata = properties.schemata(real.properties_schema)
    return type(
        "Fake" + real.__name__,
        (kind,),
        {
            "properties_schema": {
                k: without_constraints(v) for k, v in schemata.items()
            },
            "attributes_schema": real.attributes_schema,
            "support_status": real.support_status,
        },
    )


def resource_mapping():
    return {name: fake_class(*kinds) for name, kinds in REAL.items()}
