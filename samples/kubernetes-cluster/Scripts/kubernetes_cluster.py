"""Makes the servers of this VNF a Kubernetes cluster, and mends it."""

from tacker_cnf.mgmt_drivers.kubernetes_cluster import KubernetesCluster

KubernetesCluster.main()
