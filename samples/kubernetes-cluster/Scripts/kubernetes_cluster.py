"""Creates a Kubernetes cluster of this VNF's servers, and heals its nodes."""

from tacker_cnf.mgmt_drivers.kubernetes_cluster import KubernetesCluster

KubernetesCluster.main()
