"""The interface of user data, built-in or from a package."""

import abc
from typing import Any

#: a JSON object with attribute names of SOL003
Json = dict[str, Any]


class UserData(abc.ABC):
    """Computes the fields of a Heat stack for an operation.

    Each method gets the request, the VNF instance before the operation, the
    grant request and the grant as JSON, and the directory of the unpacked
    package. It returns a dict of

    ``parameters``
        parameters of the stack; BaseHOT reads ``nfv``,
    ``template``
        YAML; absent: the current template, or BaseHOT for a new stack,
    ``files``
        name -> nested template,
    ``existing``
        True, the default: ``template`` and ``parameters["nfv"]`` are JSON
        merge patches of the current ones. False: they are complete.

    A rollback calls the method with the suffix ``_rollback``:
    scale_rollback, change_ext_conn_rollback, change_vnfpkg_rollback.
    """

    @staticmethod
    @abc.abstractmethod
    def instantiate(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the fields of a new stack."""

    @staticmethod
    @abc.abstractmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the fields of a stack that is scaled."""

    @staticmethod
    @abc.abstractmethod
    def change_ext_conn(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the fields of a stack with other external networks."""

    @staticmethod
    @abc.abstractmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the changed fields of a stack that is healed."""
