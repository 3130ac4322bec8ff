"""Updates ConfigMaps, Secrets and images when the VNF gets another VNFD."""

from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate

ContainerUpdate.main()
