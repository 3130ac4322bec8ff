"""What user data is, ours or a package's."""

import abc
from typing import Any

#: JSON, as SOL003 names its attributes
Json = dict[str, Any]


class UserData(abc.ABC):
    """Tells what makes a Heat stack match an operation.

    Each method gets the request, the VNF instance as it was before the
    operation, the grant request and the grant as JSON, and the directory of
    the unpacked package. It gives a dict of

    ``parameters``
        of the stack; ``nfv`` is what BaseHOT reads,
    ``template``
        YAML; none: the one that the stack has, or BaseHOT for a new one,
    ``files``
        name -> nested template,
    ``existing``
        True, the default: ``template`` and ``parameters["nfv"]`` are JSON
        merge patches of what the stack has. False: they are whole.

    To undo an operation its method with ``_rollback`` behind the name is
    asked: scale_rollback, change_ext_conn_rollback, change_vnfpkg_rollback.
    """

    @staticmethod
    @abc.abstractmethod
    def instantiate(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what a new stack is made of."""

    @staticmethod
    @abc.abstractmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what a stack of another size is made of."""

    @staticmethod
    @abc.abstractmethod
    def change_ext_conn(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what a stack on other networks is made of."""

    @staticmethod
    @abc.abstractmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what changes of a stack that is repaired."""
