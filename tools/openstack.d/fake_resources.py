"""A Heat plugin: servers, networks, ports and volumes with Heat's own
schemas and no cloud behind them.

A test lets one fail by a file named ``TENANT/RESOURCE.fail`` in the directory
that FAKE_RESOURCES_FAULTS names: its creation or update fails with what the
file says, and by ``TENANT/RESOURCE.keep`` its deletion. While
``TENANT/RESOURCE.hold`` is there, it does not finish. A server of
the zone ``full`` finds no host.
"""

import copy
import os
import pathlib
import uuid

from heat.common import exception
from heat.engine import constraints, properties, resource
from heat.engine.resources.openstack.cinder import volume, volume_type
from heat.engine.resources.openstack.neutron import net, port, subnet
from heat.engine.resources.openstack.nova import server

FAULTS = pathlib.Path(os.environ["FAKE_RESOURCES_FAULTS"])
ADDRESS = "192.0.2.1"


def offline(schema):
    """Give a schema without the constraints that ask a cloud."""
    schema = copy.copy(schema)
    schema.constraints = [
        one
        for one in schema.constraints
        if not isinstance(one, constraints.CustomConstraint)
    ]
    if isinstance(schema.schema, constraints.AnyIndexDict):
        inner = offline(schema.schema.value)
        schema.schema = constraints.AnyIndexDict(inner)
    elif schema.schema:
        schema.schema = {k: offline(v) for k, v in schema.schema.items()}
    return schema


class Fake(resource.Resource):
    """A resource that is there as soon as it is asked for."""

    def fault(self, kind):
        return FAULTS / self.context.project_id / f"{self.name}.{kind}"

    def fail(self):
        told = self.fault("fail")
        if told.exists():
            raise exception.ResourceInError(
                resource_status="ERROR", status_reason=told.read_text().strip()
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
        told = self.fault("keep")
        if told.exists():
            raise exception.Error(told.read_text().strip())

    def handle_check(self):
        pass

    def get_live_state(self, resource_properties):
        return {}

    def _resolve_any_attribute(self, name):
        given = self.properties
        if name in {"first_address", "accessIPv4"}:
            return ADDRESS
        if name == "fixed_ips":
            asked = given.get(name) or [{}]
            return [
                {
                    "ip_address": one.get("ip_address") or ADDRESS,
                    "subnet_id": one.get("subnet"),
                }
                for one in asked
            ]
        if name in {"show", "addresses", "networks"}:
            return {}
        return given.get(name) if name in given.props else None


REAL = {
    "OS::Nova::Server": server.Server,
    "OS::Neutron::Net": net.Net,
    "OS::Neutron::Subnet": subnet.Subnet,
    "OS::Neutron::Port": port.Port,
    "OS::Cinder::Volume": volume.CinderVolume,
    "OS::Cinder::VolumeType": volume_type.CinderVolumeType,
}


def _fake(real):
    schemata = properties.schemata(real.properties_schema)
    return type(
        "Fake" + real.__name__,
        (Fake,),
        {
            "properties_schema": {k: offline(v) for k, v in schemata.items()},
            "attributes_schema": real.attributes_schema,
            "support_status": real.support_status,
        },
    )


def resource_mapping():
    return {name: _fake(real) for name, real in REAL.items()}
