"""The forms that start lifecycle operations: fields, plan, confirmation."""

from typing import Any, Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.lcm.operations import registry
from tacker_cnf.preconditions import NO_PRECONDITIONS, Preconditions
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.packages import PackageService
from tacker_cnf.services.plans import PlanService
from tacker_cnf.services.vims import VimService
from tacker_cnf.services.vnf_instances import VnfInstanceService
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vnfd.model import Flavour, Vnfd
from tacker_cnf.web import operation_requests, pages, resource_tree
from tacker_cnf.web.forms import Form
from tacker_cnf.web.vnf_instances import INSTANCES, scale_levels

OPERATIONS: Final = "/vnf_lcm_op_occs"
#: field with the entity tag of the instance that was planned for
ETAG: Final = "etag"
#: field with what is to be done: plan, edit, confirm or start
STEP: Final = "step"


class OperationForm:
    """The form of one task; the plan of the operation is shown before the
    user confirms it.
    """

    def __init__(
        self,
        task: str,
        instances: VnfInstanceService,
        operations: OperationService,
        plans: PlanService,
        packages: PackageService,
        vims: VimService,
    ) -> None:
        self._task = task
        self._rule = f"vnf_instances:{task}"
        self._kind = registry.INSTANCE_TASKS[task].kind
        self._instances = instances
        self._operations = operations
        self._plans = plans
        self._packages = packages
        self._vims = vims

    @pages.page()
    def get(self, instance_id: str) -> None:
        """Show the form."""
        http.authorize_also(self._rule)
        form = Form({name: [text] for name, text in pecan.request.GET.items()})
        pages.show("operation_form.html", **self._values(instance_id, form))

    @pages.action()
    def post(self, instance_id: str, form: Form) -> None:
        """Plan the operation, start it, or show the form again."""
        http.authorize_also(self._rule)
        step = form.text(STEP)
        is_start = step in {"confirm", "start"}
        if not is_start:
            pecan.request.environ[http.IS_DRY_RUN] = True
        if step == "edit":
            values = self._values(instance_id, form)
            pages.show("operation_form.html", **values)
            return
        try:
            request = operation_requests.build(self._task, form)
            if is_start:
                self._start(instance_id, request, form)
            else:
                self._plan(instance_id, request, form)
        except errors.VnfmError as error:
            values = self._values(instance_id, form)
            raise pages.show_again(
                "operation_form.html", error, **values
            ) from None

    def _start(self, instance_id: str, request: SolType, form: Form) -> None:
        tag = form.text(ETAG)
        preconditions = NO_PRECONDITIONS
        if tag:
            preconditions = Preconditions(if_match=frozenset({tag}))
        op_occ_id = self._operations.start(
            http.caller(), instance_id, self._kind, request, preconditions
        )
        pages.redirect(f"{OPERATIONS}/{op_occ_id}")

    def _plan(self, instance_id: str, request: SolType, form: Form) -> None:
        instance, tag = self._instances.get(http.caller(), instance_id)
        plan = self._plans.plan(
            http.caller(), instance_id, self._kind, request
        )
        pages.show(
            "operation_plan.html",
            task=self._task,
            instance=instance,
            plan=plan,
            etag=tag,
            fields=form.items(pages.CSRF_FIELD, STEP, ETAG),
        )

    def _values(self, instance_id: str, form: Form) -> dict[str, Any]:
        details, _ = self._instances.get_details(http.caller(), instance_id)
        instance = details.instance
        vnfd, files = self._package(details.package_id)
        return {
            "task": self._task,
            "instance": instance,
            "form": form,
            "vnfd": vnfd,
            "flavour": _flavour(vnfd, instance),
            "files": files,
            "levels": scale_levels(instance),
            "tree": resource_tree.build(instance.instantiated_vnf_info),
            "vims": self._list_vims(),
            "back": f"{INSTANCES}/{instance_id}",
        }

    def _package(
        self, package_id: str | None
    ) -> tuple[Vnfd | None, list[str]]:
        """Return the VNFD of an instance, and the files of its package; the
        package may belong to the NFVO.
        """
        client = pages.client_for("vnf_packages:show")
        if package_id is None or not pages.may("vnf_packages:show"):
            return None, []
        package = self._packages.get(client, package_id)
        vnfd = self._packages.get_unpacked(client, package_id).vnfd
        artifacts = (a.artifact_path for a in package.additional_artifacts)
        return vnfd, [path for path in artifacts if path]

    def _list_vims(self) -> list[tuple[str, str]]:
        """List the VIMs to choose from: id and name."""
        if self._task != "instantiate" or not pages.may("vims:index"):
            return []
        return [
            (vim.id, f"{vim.name} (default)" if vim.is_default else vim.name)
            for vim in self._vims.find(http.caller())
        ]


def _flavour(vnfd: Vnfd | None, instance: VnfInstance) -> Flavour | None:
    """Return the flavour of an instance: its current one, else the default."""
    info = instance.instantiated_vnf_info
    if vnfd is None:
        return None
    name = info.flavour_id if info else vnfd.default_flavour
    return vnfd.flavours.get(name or "")
