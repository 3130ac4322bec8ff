"""The interface of user data of version 1."""

import abc
from typing import Any, Final

from tacker_cnf.user_data.base import Json

#: seconds after which Tacker ends user data; here ``[scripts] timeout`` does
USER_DATA_TIMEOUT: Final = 60


class AbstractUserData(abc.ABC):
    """Computes the parameters of a Heat stack.

    A class may have the methods ``scale`` and ``heal``, too. They get the
    templates and the VNFD as ``instantiate`` does, then the request, the VNF
    instance, its instantiated_vnf_info and the current parameters of the
    stack. The last argument of ``scale`` is the number of VNFCs after the
    operation, that of ``heal`` a list of the VNFCs to heal.
    """

    @staticmethod
    @abc.abstractmethod
    def instantiate(
        base_hot_dict: Json | None = None,
        vnfd_dict: Json | None = None,
        inst_req_info: Any = None,
        grant_info: Any = None,
    ) -> Json:
        """Return the parameters of a new stack.

        :param base_hot_dict: "heat_template" -> BaseHOT, and file name ->
            nested template
        :param vnfd_dict: the definitions file of the flavour
        :param inst_req_info: the request; its attributes are in snake case
        :param grant_info: VDU -> resources, whose ``resource_identifier`` is
            an image
        """
