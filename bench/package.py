"""A VNF package of one Deployment, of any size, for the benchmarks."""

import io
import zipfile

TYPES = """\
tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
node_types:
  bench.VNF:
    derived_from: tosca.nodes.nfv.VNF
    properties:
      descriptor_id: {{type: string, default: {vnfd_id}}}
      descriptor_version: {{type: string, default: '1.0'}}
      provider: {{type: string, default: bench}}
      product_name: {{type: string, default: bench}}
      software_version: {{type: string, default: '1.0'}}
      vnfm_info: {{type: list, entry_schema: {{type: string}}, default: [x]}}
      flavour_id: {{type: string, default: simple}}
"""

TOP = """\
tosca_definitions_version: tosca_simple_yaml_1_2
imports: [types.yaml, flavour.yaml]
topology_template:
  inputs: {{selected_flavour: {{type: string}}}}
  node_templates:
    VNF:
      type: bench.VNF
      properties:
        flavour_id: {{get_input: selected_flavour}}
        descriptor_id: {vnfd_id}
        provider: bench
        product_name: bench
        software_version: '1.0'
        descriptor_version: '1.0'
        vnfm_info: [x]
"""

FLAVOUR = """\
tosca_definitions_version: tosca_simple_yaml_1_2
imports: [types.yaml]
topology_template:
  substitution_mappings:
    node_type: bench.VNF
    properties: {{flavour_id: simple}}
  node_templates:
    VNF: {{type: bench.VNF, properties: {{flavour_id: simple}}}}
    VDU1:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: {workload}
        description: pods
        vdu_profile:
          min_number_of_instances: 1
          max_number_of_instances: 1000
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
          aspects:
            pods:
              name: pods
              description: pods
              max_scale_level: 999
              step_deltas: [one]
    - deltas:
        type: tosca.policies.nfv.VduScalingAspectDeltas
        properties:
          aspect: pods
          deltas: {{one: {{number_of_instances: 1}}}}
        targets: [VDU1]
    - initial:
        type: tosca.policies.nfv.VduInitialDelta
        properties: {{initial_delta: {{number_of_instances: {pods}}}}}
        targets: [VDU1]
"""

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {workload}}}
spec:
  replicas: {pods}
  selector: {{matchLabels: {{app: {workload}}}}}
  template:
    metadata: {{labels: {{app: {workload}}}}}
    spec:
      containers:
        - name: main
          image: nginx:1.27
"""

META = """\
TOSCA-Meta-File-Version: 1.0
CSAR-Version: 1.1
Created-by: bench
Entry-Definitions: Definitions/top.yaml
"""

DEF_FILE = "Files/kubernetes/deployment.yaml"


def csar(vnfd_id: str, workload: str, pods: int) -> bytes:
    """Pack a VNF of one Deployment with this many pods."""
    facts = {"vnfd_id": vnfd_id, "workload": workload, "pods": pods}
    files = {
        "TOSCA-Metadata/TOSCA.meta": META,
        "Definitions/types.yaml": TYPES.format(**facts),
        "Definitions/top.yaml": TOP.format(**facts),
        "Definitions/flavour.yaml": FLAVOUR.format(**facts),
        DEF_FILE: MANIFEST.format(**facts),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def manifest(workload: str, pods: int) -> str:
    """Return the same Deployment for the bare client."""
    return MANIFEST.format(workload=workload, pods=pods)
