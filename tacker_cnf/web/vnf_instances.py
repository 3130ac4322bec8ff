"""The pages of VNF instances."""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.lcm import states
from tacker_cnf.lcm.operations import registry
from tacker_cnf.list_query import ListQuery
from tacker_cnf.preconditions import NO_PRECONDITIONS
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.packages import PackageService
from tacker_cnf.services.vnf_instances import VnfInstanceService
from tacker_cnf.sol.lcm_request import CreateVnfRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType, VnfLcmOpOcc
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    VnfPkgInfo,
)
from tacker_cnf.web import (
    forms,
    lists,
    operation_requests,
    pages,
    resource_tree,
)
from tacker_cnf.web.forms import Form

INSTANCES: Final = "/vnf_instances"
#: the operations of an instance that its page shows
SHOWN_OPERATIONS: Final = 20
#: packages that the form to create an instance offers
MAX_PACKAGES: Final = 200
#: states of an operation that need the attention of an operator
_NOTED: Final = (*states.ACTIVE, LcmOperationStateType.FAILED_TEMP)
_OF_OPERATIONS: Final = frozenset(
    {
        "error",
        "id",
        "is_cancel_pending",
        "operation",
        "operation_state",
        "progress",
        "project_id",
        "start_time",
        "state_entered_time",
        "vnf_instance_id",
        # required by the type
        "cancel_mode",
        "is_automatic_invocation",
    }
)


class VnfInstancePages:
    """The list, one instance, and the form to create one."""

    def __init__(
        self,
        instances: VnfInstanceService,
        operations: OperationService,
        packages: PackageService,
    ) -> None:
        self._instances = instances
        self._operations = operations
        self._packages = packages

    @pages.page("vnf_instances:index")
    def get_all(self) -> None:
        """List VNF instances."""
        name = pages.parameter("name")
        page = lists.read(
            self._instances.find,
            http.caller(),
            VnfInstance,
            *((lists.contains("vnf_instance_name", name),) if name else ()),
            without=("vim_connection_info", "links"),
        )
        pages.show(
            "vnf_instances.html",
            page=page,
            name=name,
            alarms={i.id: alarms_of(i) for i in page.entries},
            operations=self._noted_operations(page.entries),
            conductors=self._operations.count_conductors(http.caller()),
        )

    def _noted_operations(
        self, entries: Sequence[VnfInstance]
    ) -> Mapping[str, Sequence[VnfLcmOpOcc]]:
        """Return the operations that run or have failed, by instance."""
        found = defaultdict(list)
        if entries and pages.may("vnf_lcm_op_occs:index"):
            ids = lists.equals("vnf_instance_id", *(e.id for e in entries))
            noted = lists.equals("operation_state", *_NOTED)
            query = ListQuery(
                attributes=_OF_OPERATIONS, comparisons=(ids, noted)
            )
            with self._operations.find(http.caller(), query) as op_occs:
                for _, op_occ in op_occs:
                    found[op_occ.vnf_instance_id].append(op_occ)
        return found

    @pages.page("vnf_instances:show")
    def get(self, instance_id: str) -> None:
        """Show a VNF instance."""
        instance, _ = self._instances.get(http.caller(), instance_id)
        operations = self._latest_operations(instance_id)
        noted = [o for o in operations if o.operation_state in _NOTED]
        # an operation that runs or has failed has the instance
        allowed = () if noted else registry.allowed_tasks(instance)
        pages.show(
            "vnf_instance.html",
            instance=instance,
            tree=resource_tree.build(instance.instantiated_vnf_info),
            alarms=alarms_of(instance),
            tasks=[t for t in operation_requests.TASKS if t in allowed],
            operations=operations,
            noted=noted,
            levels=scale_levels(instance),
        )

    def _latest_operations(self, instance_id: str) -> list[VnfLcmOpOcc]:
        """List the latest operations of an instance, the last one first."""
        if not pages.may("vnf_lcm_op_occs:index"):
            return []
        query = ListQuery(
            attributes=_OF_OPERATIONS,
            comparisons=(lists.equals("vnf_instance_id", instance_id),),
            newest_first=True,
            batch=SHOWN_OPERATIONS,
        )
        with self._operations.find(http.caller(), query) as found:
            latest = itertools.islice(found, SHOWN_OPERATIONS)
            return [op_occ for _, op_occ in latest]

    @pages.page("vnf_instances:create")
    def get_new(self) -> None:
        """Show the form to create a VNF instance."""
        package_id = pages.parameter("package")
        pages.show("vnf_instance_new.html", **self._new_values(package_id))

    def _new_values(self, package_id: str, **typed: Any) -> dict[str, Any]:
        query = ListQuery(
            attributes=lists.attributes_of(VnfPkgInfo),
            comparisons=(
                lists.equals("onboarding_state", OnboardingState.ONBOARDED),
                lists.equals("operational_state", OperationalState.ENABLED),
            ),
            newest_first=True,
            batch=MAX_PACKAGES,
        )
        packages: list[VnfPkgInfo] = []
        if pages.may("vnf_packages:index"):
            with self._packages.find(http.caller(), query) as found:
                newest = itertools.islice(found, MAX_PACKAGES)
                packages = [p for _, p in newest][::-1]
        values = {"name": "", "description": "", "packages": packages}
        return {**values, "package_id": package_id, **typed}

    @pages.action("vnf_instances:create")
    def post(self, form: Form) -> None:
        """Create a VNF instance."""
        package_id = form.text("package") or ""
        try:
            vnfd_id = self._instances.get_vnfd_id(http.caller(), package_id)
            request = forms.build(
                {
                    "vnfdId": vnfd_id,
                    "vnfInstanceName": form.text("name"),
                    "vnfInstanceDescription": form.text("description"),
                },
                CreateVnfRequest,
            )
            instance = self._instances.create(
                http.caller(), request, NO_PRECONDITIONS
            )
        except errors.VnfmError as error:
            values = self._new_values(
                package_id,
                name=form.text("name") or "",
                description=form.text("description") or "",
            )
            raise pages.show_again(
                "vnf_instance_new.html", error, **values
            ) from None
        pages.redirect(f"{INSTANCES}/{instance.id}")

    @pages.page("vnf_instances:delete")
    def get_delete(self, instance_id: str) -> None:
        """Ask whether to delete a VNF instance."""
        instance, _ = self._instances.get(http.caller(), instance_id)
        pages.show(
            "confirm.html",
            title="Delete VNF instance",
            name=instance.vnf_instance_name or instance.id,
            text="Its operations are no longer shown. The VNF package stays.",
            verb="Delete",
            back=f"{INSTANCES}/{instance_id}",
        )

    @pages.action("vnf_instances:delete")
    def post_delete(self, instance_id: str, _form: Form) -> None:
        """Delete a VNF instance."""
        self._instances.delete(http.caller(), instance_id, NO_PRECONDITIONS)
        pages.redirect("/")

    @pages.action("vnf_instances:sync")
    def post_sync(self, instance_id: str, _form: Form) -> None:
        """Synchronize a VNF instance with its VIM."""
        self._instances.sync(http.caller(), instance_id, NO_PRECONDITIONS)
        pages.redirect(f"{INSTANCES}/{instance_id}")


def alarms_of(instance: VnfInstance) -> list[str]:
    """Return what is wrong with an instance, except failed operations."""
    lost = resource_tree.lost_vnfcs(instance.instantiated_vnf_info)
    if not lost:
        return []
    noun = "VNFC is" if lost == 1 else "VNFCs are"
    return [f"{lost} {noun} lost on the VIM"]


def scale_levels(instance: VnfInstance) -> list[tuple[str, int, int | None]]:
    """Return the aspects of an instance: name, scale level, and the largest
    one, if it is known.
    """
    info = instance.instantiated_vnf_info
    if info is None:
        return []
    largest = {s.aspect_id: s.scale_level for s in info.max_scale_levels}
    return [
        (s.aspect_id, s.scale_level, largest.get(s.aspect_id))
        for s in info.scale_status
    ]
