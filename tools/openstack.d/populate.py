"""Creates the initial data of an OpenStack.

``populate.py identity``: create users, roles and endpoints in Keystone.
``populate.py rest``: wait for all other services; create flavors and images.
"""

import calendar
import os
import sys
import time

from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3

TIMEOUT_S = 600
PASSWORD = os.environ["OS_PASSWORD"]
FULL = os.environ["TIER"] == "full"
#: name of a service -> its type, and the path of its API
SERVICES = {
    "heat": ("orchestration", "/v1/%(tenant_id)s"),
    "glance": ("image", ""),
    "placement": ("placement", ""),
    "neutron": ("network", ""),
    "nova": ("compute", "/v2.1"),
    "cinder": ("block-storage", "/v3/%(tenant_id)s"),
}
#: user -> {project: roles}
ROLES = {
    "admin": {"admin": ("heat_stack_owner",), "demo": ("admin",)},
    "svc": {"service": ("admin", "service")},
    "demo": {"demo": ("member", "heat_stack_owner")},
}

admin = session.Session(
    v3.Password(
        os.environ["OS_AUTH_URL"],
        username="admin",
        password=PASSWORD,
        user_domain_id="default",
        project_name="admin",
        project_domain_id="default",
    )
)


def endpoint_url(service_type):
    return {
        "endpoint_filter": {
            "service_type": service_type,
            "interface": "public",
        }
    }


def get(service_type, path):
    # a request received before the engine listens would block for minutes
    return admin.get(path, timeout=10, **endpoint_url(service_type)).json()


def ensure(kind, name, **more):
    """Create a Keystone resource if it does not exist; return its id."""
    match = {"name": name, **more}
    match.pop("password", None)
    query = "&".join(f"{key}={value}" for key, value in match.items())
    for found in get("identity", f"/{kind}s?{query}")[f"{kind}s"]:
        return found["id"]
    body = {kind: {"name": name, **more}}
    made = admin.post(
        f"/{kind}s", json=body, **endpoint_url("identity")
    ).json()
    return made[kind]["id"]


def grant(where, user, role):
    admin.put(
        f"/{where}/users/{user}/roles/{role}", **endpoint_url("identity")
    )


def identity():
    roles = {
        name: ensure("role", name)
        for name in (
            "admin",
            "member",
            "service",
            "heat_stack_user",
            "heat_stack_owner",
        )
    }
    for name, projects in ROLES.items():
        user = ensure("user", name, domain_id="default", password=PASSWORD)
        for project_name, granted in projects.items():
            project = ensure("project", project_name, domain_id="default")
            for role in granted:
                grant(f"projects/{project}", user, roles[role])
    domain = ensure("domain", "heat")
    user = ensure(
        "user", "heat_domain_admin", domain_id=domain, password=PASSWORD
    )
    grant(f"domains/{domain}", user, roles["admin"])
    for name, (kind, path) in SERVICES.items():
        if FULL or name == "heat":
            endpoints(ensure("service", name, type=kind), name, path)


def endpoints(service, name, path):
    port = os.environ[f"PORT_{name}"]
    for interface in ("public", "internal", "admin"):
        existing = get(
            "identity",
            f"/endpoints?service_id={service}&interface={interface}",
        )
        if not existing["endpoints"]:
            body = {
                "service_id": service,
                "interface": interface,
                "region_id": "RegionOne",
                "url": f"http://127.0.0.1:{port}{path}",
            }
            admin.post(
                "/endpoints",
                json={"endpoint": body},
                **endpoint_url("identity"),
            )


def wait_until(what, probe, seconds=TIMEOUT_S):
    """Wait until ``probe`` returns a true value."""
    end = time.monotonic() + seconds
    problem = "not yet"
    while time.monotonic() < end:
        try:
            if probe():
                return
        except exceptions.ClientException as error:
            problem = error
        time.sleep(0.2)
    sys.exit(f"{what} is not ready after {seconds} s: {problem}")


def services_are_up(service_type, path, binaries):
    """Return whether services have reported since the start."""
    started_at = float(os.environ["STARTED_AT"])
    up = set()
    for service in get(service_type, path)["services"]:
        updated_at = (service["updated_at"] or "1970-01-01T00:00:00")[:19]
        when = time.strptime(updated_at, "%Y-%m-%dT%H:%M:%S")
        if service["state"] == "up" and calendar.timegm(when) >= started_at:
            up.add(service["binary"])
    return up >= set(binaries)


def heat():
    wait_until("heat-engine", lambda: get("orchestration", "/build_info"), 150)


def main():
    if FULL:
        nova = ("nova-compute", "nova-conductor", "nova-scheduler")
        cinder = ("cinder-volume", "cinder-scheduler")
        wait_until(
            "Nova", lambda: services_are_up("compute", "/os-services", nova)
        )
        hosts = "/os-hypervisors/detail"
        wait_until("a host", lambda: get("compute", hosts)["hypervisors"])
        storage = "block-storage"
        wait_until(
            "Cinder", lambda: services_are_up(storage, "/os-services", cinder)
        )
        wait_until("Neutron", lambda: get("network", "/v2.0/networks"))
        flavors()
        # the second is the image after a change of package
        for name in ("cirros", "cirros-next"):
            image(name)


def flavors():
    existing = {
        flavor["name"] for flavor in get("compute", "/flavors")["flavors"]
    }
    for name, memory in (("m1.tiny", 512), ("m1.small", 2048)):
        if name not in existing:
            body = {"name": name, "vcpus": 1, "ram": memory, "disk": 1}
            admin.post(
                "/flavors", json={"flavor": body}, **endpoint_url("compute")
            )


def image(name):
    if get("image", f"/v2/images?name={name}")["images"]:
        return
    body = {
        "name": name,
        "container_format": "bare",
        "disk_format": "raw",
        "visibility": "public",
    }
    made = admin.post("/v2/images", json=body, **endpoint_url("image")).json()
    admin.put(
        f"/v2/images/{made['id']}/file",
        data=b"\0" * 1024,
        headers={"Content-Type": "application/octet-stream"},
        **endpoint_url("image"),
    )


{"identity": identity, "heat": heat, "rest": main}[sys.argv[1]]()
