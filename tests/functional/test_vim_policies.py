"""What the policy of a VIM allows packages to create: attacks by packages and
by clients, and what owners of VIMs allow.
"""

from typing import Any, Final

from kubernetes_sandbox.cluster import SandboxCluster

from tests.fixtures.cluster import (
    CORE,
    CUSTOM,
    DEFINITION,
    RBAC,
    CnfCase,
    CnfService,
)
from tests.fixtures.projects import UNTRUSTED, Projects
from tests.fixtures.vnfm import SAMPLES, ApiCase, Csar, Response
from tests.functional.test_provided_vims import ProvidedCase, provides

VIMS: Final = "/v1.0/vims"
ATTACK: Final = "Files/kubernetes/attack.yaml"
POD: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: attack}
spec:
  containers: [{name: main, image: nginx%s}]
%s"""
CLUSTER_ADMIN: Final = """\
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""
WEBHOOK: Final = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: attack}
webhooks:
  - name: attack.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {url: "https://attack.example.com"}
    rules:
      - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: ["*"]}
"""
#: what a package tries -> its manifest, and what the error names
ATTACKS: Final = {
    "a privileged container": (
        POD % (", securityContext: {privileged: true}", ""),
        (
            "Pod attack: spec.containers[0].securityContext.privileged: true is "
            "not allowed"
        ),
    ),
    "a directory of the node": (
        POD % ("", "  volumes: [{name: node, hostPath: {path: /}}]\n"),
        "spec.volumes[0].hostPath",
    ),
    "the network of the node": (
        POD % ("", "  hostNetwork: true\n"),
        "spec.hostNetwork: true is not allowed, only unset or false",
    ),
    "a privileged template": (
        """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: attack}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          hostPID: true
          containers: [{name: main, image: busybox}]
""",
        "CronJob attack: spec.jobTemplate.spec.template.spec.hostPID",
    ),
    "rights of an administrator": (
        f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: attack}}
{CLUSTER_ADMIN}""",
        "packages may not create a ClusterRoleBinding.rbac.authorization.k8s.io",
    ),
    "rights of an administrator in the namespace": (
        f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: attack}}
{CLUSTER_ADMIN}""",
        "roleRef: the ClusterRole cluster-admin is not of the VNF",
    ),
    "a Role that gives further rights": (
        """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: attack}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
  - {apiGroups: ["*"], resources: [roles], verbs: [escalate]}
""",
        "rules[1].verbs: escalate",
    ),
    "a Role that creates pods": (
        """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: attack}
rules:
  - {apiGroups: [apps], resources: [daemonsets], verbs: [get, create]}
""",
        "rules[0].verbs: create of daemonsets creates pods",
    ),
    "a Role that creates tokens": (
        """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: attack}
rules:
  - {apiGroups: [""], resources: ["*/token"], verbs: [create]}
""",
        "rules[0].verbs: create of serviceaccounts/token gives rights",
    ),
    "a token of another ServiceAccount": (
        """\
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: attack
  annotations: {kubernetes.io/service-account.name: vnfm}
""",
        "Secret attack: type: the token of a ServiceAccount",
    ),
    "the traffic to an address of others": (
        """\
apiVersion: v1
kind: Service
metadata: {name: attack}
spec: {ports: [{port: 443}], externalIPs: [192.0.2.1]}
""",
        "Service attack: spec.externalIPs",
    ),
    "a webhook for all pods": (
        WEBHOOK,
        "MutatingWebhookConfiguration.admissionregistration.k8s.io",
    ),
    "a kind for the whole cluster": (
        DEFINITION % "Cluster",
        "CustomResourceDefinition.apiextensions.k8s.io",
    ),
    "a namespace": (
        "{apiVersion: v1, kind: Namespace, metadata: {name: attack}}",
        "packages may not create a Namespace",
    ),
    "a directory of a node as a volume": (
        """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: attack}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /}
""",
        "spec.hostPath: it is a part of a node",
    ),
    "a list of another kind": (
        "{apiVersion: v1, kind: PodList, metadata: {name: attack}}",
        "packages may not create a PodList",
    ),
}


class PolicyCase(CnfCase, ApiCase):
    """A service with the default policy, and its cluster."""

    def request(self, *files: str, **changes: Any) -> dict[str, Any]:
        """Build a request to instantiate a Deployment and more files."""
        request = self.vnfm.deployment_only(**changes)
        request["additionalParams"]["lcm-kubernetes-def-files"] += files
        return request

    def instantiate(self, text: str, **changes: Any) -> Response:
        """Request the instantiation of a package with one more manifest."""
        instance_id = self.vnfm.create_with_files(attack=text)
        request = self.request(ATTACK, **changes)
        return self.vnfm.task(instance_id, "instantiate", request)

    def check_refused(self, response: Response, *messages: str) -> None:
        """Check that a request was refused before anything was created."""
        for message in messages:
            self.assert_problem(422, response, message)
        self.assertEqual({}, self.objects())

    def register(self, **policy: Any) -> dict[str, Any]:
        """Register the cluster as a VIM; return the vimConnectionInfo."""
        extra = {"extra": {"policy": policy}} if policy else {}
        response = self.vnfm.call("POST", VIMS, self.vim(**extra))
        self.assertEqual(201, response.status, str(response.content))
        return {"vim1": {"vimId": response.json["vim"]["id"]}}

    def vim(self, **more: Any) -> dict[str, Any]:
        return {"vim": a_cluster(self.cluster.sandbox) | more}


def a_cluster(sandbox: SandboxCluster) -> dict[str, Any]:
    """Return the attributes of a cluster as a VIM."""
    return {
        "name": "a cluster",
        "type": "kubernetes",
        "auth_url": sandbox.endpoint,
        "auth_cred": {
            "bearer_token": sandbox.token,
            "ssl_ca_cert": sandbox.ca_pem,
        },
        "vim_project": {"name": "default"},
    }


class TestPackages(PolicyCase):
    def test_each_attack_is_refused_before_the_operation(self) -> None:
        responses = {
            name: self.instantiate(text) for name, (text, _) in ATTACKS.items()
        }
        self.assertEqual(
            dict.fromkeys(ATTACKS, 422),
            {name: one.status for name, one in responses.items()},
        )
        for name, (_, message) in ATTACKS.items():
            self.check_refused(
                responses[name],
                message,
                f"vimConnectionInfo.vim1 does not allow what the VNF package "
                f"contains: {ATTACK}: ",
                "extra.policy",
            )

    def test_the_same_on_a_registered_vim(self) -> None:
        connections = self.register()
        for text, message in ATTACKS.values():
            response = self.instantiate(text, vimConnectionInfo=connections)
            self.check_refused(response, message)

    def test_several_problems_are_in_one_error(self) -> None:
        text = POD % (", securityContext: {privileged: true}", "")
        text += "  hostNetwork: true\n  hostIPC: true\n"
        response = self.instantiate(text)
        self.check_refused(response, "hostNetwork", "hostIPC", "privileged")

    def test_a_change_of_the_package(self) -> None:
        instance_id = self.vnfm.start_vnf(self.request())
        uids = self.cluster.uids(self.vnfm.namespace)
        csar = self.useFixture(Csar(files={ATTACK: ATTACKS["a namespace"][0]}))
        body = {
            "vnfdId": self.vnfm.onboard(csar),
            "additionalParams": {
                "upgrade_type": "RollingUpdate",
                "lcm-kubernetes-def-files": [
                    *self.request()["additionalParams"][
                        "lcm-kubernetes-def-files"
                    ],
                    ATTACK,
                ],
            },
        }
        response = self.vnfm.task(instance_id, "change_vnfpkg", body)
        self.assert_problem(422, response, "may not create a Namespace")
        self.assertEqual(uids, self.cluster.uids(self.vnfm.namespace))

    def test_an_update_by_a_script(self) -> None:
        names = ("configuration", "other", "workloads")
        instance_id = self.vnfm.create(
            self.vnfm.onboard(self.useFixture(Csar("cnf-update-before")))
        )
        parameters = {
            "lcm-kubernetes-def-files": [
                f"Files/kubernetes/{name}.yaml" for name in names
            ],
            "namespace": self.vnfm.namespace,
        }
        request = self.vnfm.request(additionalParams=parameters)
        done = self.vnfm.run(instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", done["operationState"], done)
        before = self.objects()
        workloads = "Files/kubernetes/workloads.yaml"
        text = (SAMPLES / "cnf-update-after" / workloads).read_text()
        text = text.replace(
            "      containers:", "      hostPID: true\n      containers:", 1
        )
        after = Csar("cnf-update-after", files={workloads: text})
        paths = ["Files/kubernetes/configuration-2.yaml"]
        failed = self.vnfm.modify(
            instance_id,
            {
                "vnfdId": self.vnfm.onboard(self.useFixture(after)),
                "metadata": {"configmap_secret_paths": paths},
            },
        )
        self.assertIn(
            f"{workloads}: Deployment front: spec.template.spec.hostPID",
            failed["error"]["detail"],
        )
        self.assertEqual(before, self.objects())

    def test_a_dry_run(self) -> None:
        instance_id = self.vnfm.create_with_files(attack=WEBHOOK)
        path = f"/vnflcm/v2/vnf_instances/{instance_id}/instantiate"
        response = self.vnfm.call(
            "POST", f"{path}?dry_run=true", self.request(ATTACK)
        )
        self.assert_problem(422, response, "MutatingWebhookConfiguration")

    def test_a_kind_of_which_only_the_cluster_knows_the_scope(self) -> None:
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        body = {
            "metadata": {"name": f"gadgets.{CUSTOM}"},
            "spec": {
                "group": CUSTOM,
                "scope": "Cluster",
                "names": {
                    "plural": "gadgets",
                    "singular": "gadget",
                    "kind": "Gadget",
                },
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                ],
            },
        }
        self.cluster.call("POST", definitions, body)
        text = f"""\
apiVersion: {CUSTOM}/v1
kind: Gadget
metadata: {{name: one}}
"""
        instance_id = self.vnfm.create_with_files(attack=text)
        request = self.request(ATTACK)
        message = f"a Gadget.{CUSTOM} has no namespace"
        path = f"/vnflcm/v2/vnf_instances/{instance_id}/instantiate"
        response = self.vnfm.call("POST", f"{path}?dry_run=true", request)
        self.assert_problem(422, response, message)
        failed = self.vnfm.run(instance_id, "instantiate", request)
        self.assertIn(message, failed["error"]["detail"])
        self.assertEqual({}, self.objects())
        gadgets = self.cluster.call("GET", f"/apis/{CUSTOM}/v1/gadgets")
        self.assertEqual([], gadgets["items"])

    def test_a_policy_that_became_stricter(self) -> None:
        """It does not prevent a rollback and a termination."""
        connections = self.register(pod_security="privileged")
        text = POD % ("", "  hostNetwork: true\n")
        instance_id = self.vnfm.create_with_files(attack=text)
        request = self.request(ATTACK, vimConnectionInfo=connections)
        self.vnfm.run(instance_id, "instantiate", request)
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cordon(node, is_cordoned=True)
        body = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        failed = self.vnfm.run(instance_id, "scale", body)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        path = f"{VIMS}/{connections['vim1']['vimId']}"
        policy = {"extra": {"policy": {"pod_security": "baseline"}}}
        response = self.vnfm.call("PUT", path, {"vim": policy})
        self.assertEqual(200, response.status, str(response.content))
        done = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", done["operationState"], done)
        response = self.vnfm.task(instance_id, "heal", {})
        self.assert_problem(422, response, "spec.hostNetwork")
        end = {"terminationType": "FORCEFUL"}
        done = self.vnfm.run(instance_id, "terminate", end)
        self.assertEqual("COMPLETED", done["operationState"], done)


class TestNames(PolicyCase):
    """Names that would be paths of other objects."""

    def test_namespaces(self) -> None:
        instance_id = self.vnfm.create()
        for namespace in (
            "kube-system?x=1",
            "default/../kube-system",
            "..",
            "../..",
            "%2e%2e",
            "Default",
            "a" * 64,
        ):
            request = self.request()
            request["additionalParams"]["namespace"] = namespace
            response = self.vnfm.task(instance_id, "instantiate", request)
            self.assert_problem(
                400, response, f"additionalParams.namespace: {namespace!r}"
            )

    def test_namespaces_of_manifests(self) -> None:
        text = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: attack, namespace: "kube-system?x=1"}
"""
        response = self.instantiate(text)
        self.assert_problem(
            400, response, f"The manifest {ATTACK}: ConfigMap: namespace: "
        )

    def test_names_and_kinds(self) -> None:
        for kind, name, message in (
            ("ConfigMap", "x/../../secrets", "metadata.name"),
            ("ConfigMap", "x?dryRun=All", "metadata.name"),
            ("ConfigMap", "..", "metadata.name"),
            ("Service", "a.b", "a DNS label"),
            ("Pod/../../secrets", "x", "kind"),
        ):
            text = f"{{apiVersion: v1, kind: {kind}, metadata: {{name: '{name}'}}}}"
            response = self.instantiate(text)
            self.assert_problem(400, response, message)
            self.assert_problem(400, response, ATTACK)
        for version in ("example.com/../../api/v1", "v1?x=1", "Apps/v1"):
            text = f"""\
apiVersion: {version}
kind: Gadget
metadata: {{name: x}}
"""
            self.assert_problem(400, self.instantiate(text), "apiVersion")
        self.assertEqual({}, self.objects())

    def test_names_of_roles_may_have_colons(self) -> None:
        text = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "vendor:reader"}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""
        instance_id = self.vnfm.create_with_files(attack=text)
        done = self.vnfm.run(instance_id, "instantiate", self.request(ATTACK))
        self.assertEqual("COMPLETED", done["operationState"], done)
        path = f"{RBAC}/namespaces/{self.vnfm.namespace}/roles/vendor:reader"
        self.assertIsNotNone(self.cluster.call("GET", path))


class TestNamespaces(PolicyCase):
    def test_namespaces_of_the_cluster(self) -> None:
        instance_id = self.vnfm.create()
        for namespace in ("kube-system", "kube-public", "kube-node-lease"):
            before = self.cluster.objects(namespace)
            request = self.request()
            request["additionalParams"]["namespace"] = namespace
            response = self.vnfm.task(instance_id, "instantiate", request)
            self.assert_problem(
                422, response, f"namespace {namespace}: VNFs may be in *"
            )
            self.assertEqual(before, self.cluster.objects(namespace))

    def test_namespaces_of_a_policy(self) -> None:
        connections = self.register(allowed_namespaces=["vnf-*", "lab"])
        request = self.request(vimConnectionInfo=connections)
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.check_refused(response, "VNFs may be in vnf-*, lab")
        name = "vnf-one"
        body = {"metadata": {"name": name}}
        self.cluster.call("POST", f"{CORE}/namespaces", body)
        request["additionalParams"]["namespace"] = name
        done = self.vnfm.run(instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", done["operationState"], done)


class TestClients(PolicyCase):
    """Clients that try to loosen the policy of a VIM."""

    LOOSE: Final = {"policy": {"pod_security": "privileged"}}
    PRIVILEGED: Final = POD % (", securityContext: {privileged: true}", "")

    def test_a_policy_in_a_request(self) -> None:
        registered = self.register()["vim1"]
        inline = self.cluster.vim()["vim1"]
        for info in (registered, inline, {**inline, **registered}):
            response = self.instantiate(
                self.PRIVILEGED,
                vimConnectionInfo={"vim1": {**info, "extra": self.LOOSE}},
            )
            self.assert_problem(
                400,
                response,
                "vimConnectionInfo.vim1.extra.policy: the policy",
            )
        self.assertEqual({}, self.objects())

    def test_a_policy_in_a_modification(self) -> None:
        vim = self.register()["vim1"]
        request = self.request(vimConnectionInfo={"vim1": vim})
        instance_id = self.vnfm.start_vnf(request)
        body = {"vimConnectionInfo": {"vim1": {"extra": self.LOOSE}}}
        response = self.vnfm.patch(instance_id, body)
        self.assert_problem(
            400, response, "vimConnectionInfo.vim1.extra.policy"
        )

    def test_the_policy_of_a_vim_holds_for_own_credentials(self) -> None:
        vim = self.register(pod_security="restricted")["vim1"]
        access = {"bearer_token": self.cluster.sandbox.token}
        request = self.request(
            vimConnectionInfo={"vim1": {**vim, "accessInfo": access}}
        )
        response = self.vnfm.task(self.vnfm.create(), "instantiate", request)
        self.check_refused(response, "pod security restricted")

    def test_a_modified_extra_keeps_the_policy(self) -> None:
        connections = self.register(pod_security="restricted")
        path = f"{VIMS}/{connections['vim1']['vimId']}"
        change: dict[str, Any] = {"vim": {"extra": {"region": "north"}}}
        changed = self.vnfm.call("PUT", path, change).json["vim"]["extra"]
        policy = {"pod_security": "restricted"}
        self.assertEqual({"region": "north", "policy": policy}, changed)
        change = {"vim": {"extra": {"policy": None}}}
        changed = self.vnfm.call("PUT", path, change).json["vim"]["extra"]
        self.assertEqual({}, changed)

    def test_policies_that_are_not_valid(self) -> None:
        for policy, message in (
            ({"pod-security": "x"}, 'did you mean "pod_security"?'),
            ({"nothing": 1}, "it has allowed_namespaces, allowed_kinds, pod_"),
            ({"pod_security": "lax"}, "Invalid enum value 'lax'"),
            ({"allowed_kinds": "Namespace"}, "Expected `array`"),
            ({"allowed_kinds": ["Namespce"]}, 'Did you mean "Namespace"?'),
            ({"allowed_namespaces": ["a b"]}, "$.allowed_namespaces[0]"),
            ("privileged", "expected an object"),
        ):
            vim = self.vim(extra={"policy": policy})
            response = self.vnfm.call("POST", VIMS, vim)
            self.assert_problem(400, response, message)
            self.assert_problem(400, response, "extra.policy: ")
        response = self.vnfm.call("POST", VIMS, self.vim(extra={"Policy": {}}))
        self.assert_problem(400, response, 'did you mean "policy"?')
        vim = self.vim(extra=self.LOOSE, type="noop")
        response = self.vnfm.call("POST", VIMS, vim)
        self.assert_problem(400, response, "a VIM of this type has no policy")


class TestAllowances(PolicyCase):
    """What owners of VIMs, and operators, allow."""

    def test_a_registered_vim(self) -> None:
        connections = self.register(
            pod_security="privileged",
            allowed_kinds=[
                "ClusterRoleBinding",
                "ClusterRole",
                "Endpoints",
                "CustomResourceDefinition.apiextensions.k8s.io",
                "*.admissionregistration.k8s.io",
                "Namespace",
                "PersistentVolume",
            ],
        )
        texts = [
            text.replace("attack", f"attack-{number}")
            for number, (name, (text, _)) in enumerate(ATTACKS.items())
            if name != "a list of another kind"
        ]
        response = self.instantiate(
            "\n---\n".join(texts), vimConnectionInfo=connections
        )
        self.assertEqual(202, response.status, str(response.content))
        done = self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual("COMPLETED", done["operationState"], done)

    def test_the_policy_of_one_vim_is_not_that_of_another(self) -> None:
        self.register(pod_security="privileged")
        text, message = ATTACKS["the network of the node"]
        self.check_refused(self.instantiate(text), message)


class TestOptions(PolicyCase):
    """The options are the policy of VIMs that set none."""

    def create_service(self) -> CnfService:
        return CnfService(
            pod_security="restricted", allowed_kinds=["Namespace"]
        )

    def test_options(self) -> None:
        request = self.request()
        response = self.vnfm.task(self.vnfm.create(), "instantiate", request)
        self.check_refused(
            response,
            "Deployment web: spec.template.spec.containers[0].securityContext."
            "runAsNonRoot: it has to be true (pod security restricted)",
        )
        # a VIM overrides them one by one
        connections = self.register(pod_security="baseline")
        text, _ = ATTACKS["a namespace"]
        response = self.instantiate(text, vimConnectionInfo=connections)
        self.assertEqual(202, response.status, str(response.content))
        self.vnfm.wait_operation(response.headers["Location"])


class TestProjects(ApiCase):
    """Who reads and sets the policy of a VIM."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Projects())
        self.sandbox = SandboxCluster()
        self.sandbox.start()
        self.addCleanup(self.sandbox.stop)

    def test_only_a_manager_sets_it(self) -> None:
        policy = {"policy": {"pod_security": "privileged"}}
        vim = a_cluster(self.sandbox)
        response = self.vnfm.call(
            "POST", VIMS, {"vim": vim | {"extra": policy}}
        )
        self.assert_problem(403, response)
        response = self.vnfm.call("POST", VIMS, {"vim": vim})
        self.assertEqual(201, response.status, str(response.content))
        path = f"{VIMS}/{response.json['vim']['id']}"
        change = {"vim": {"extra": policy}}
        self.assert_problem(403, self.vnfm.call("PUT", path, change))
        self.vnfm.become(self.vnfm.project, "member", "manager")
        self.assertEqual(200, self.vnfm.call("PUT", path, change).status)

    def test_a_project_that_shares_the_vim_does_not_read_it(self) -> None:
        self.vnfm.become(self.vnfm.project, "member", "manager")
        extra = {"region": "north", "policy": {"allowed_namespaces": ["a"]}}
        vim = a_cluster(self.sandbox) | {"extra": extra}
        created = self.vnfm.call("POST", VIMS, {"vim": vim}).json["vim"]
        path = f"{VIMS}/{created['id']}"
        self.vnfm.call("PUT", path, {"vim": {"shared_with": [UNTRUSTED]}})
        for shown in (
            created,
            self.vnfm.call("GET", path).json["vim"],
            self.vnfm.call("GET", VIMS).json["vims"][0],
        ):
            self.assertEqual(extra, shown["extra"])
        self.vnfm.become(UNTRUSTED, "member", "manager")
        for shown in (
            self.vnfm.call("GET", path).json["vim"],
            self.vnfm.call("GET", VIMS).json["vims"][0],
        ):
            self.assertEqual({"region": "north"}, shown["extra"])
        change = {"vim": {"extra": {"policy": None}}}
        self.assert_problem(403, self.vnfm.call("PUT", path, change))


class TestScripts(ProvidedCase):
    """Scripts of packages, which provide VIMs and read those they use."""

    def test_a_policy_of_a_provided_vim(self) -> None:
        policy = {"policy": {"pod_security": "privileged"}}
        line = provides(type="kubernetes", extra=policy)
        self.set_action("instantiate_end", line)
        failed = self.instantiate(self.create_scripted())
        self.assertIn(
            "its output has a policy for VIM k8s (extra.policy)",
            failed["error"]["detail"],
        )
        self.assertEqual({}, self.vims())

    def test_a_misspelt_policy_of_a_provided_vim(self) -> None:
        line = provides(type="kubernetes", extra={"Policy": {}})
        self.set_action("instantiate_end", line)
        failed = self.instantiate(self.create_scripted())
        self.assertIn(
            'extra: Unknown attribute "Policy"', failed["error"]["detail"]
        )
        self.assertEqual({}, self.vims())

    def test_an_update_of_a_provided_vim_keeps_its_policy(self) -> None:
        self.set_action("instantiate_end", provides(type="kubernetes"))
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        path = f"{VIMS}/{self.vims()['k8s']['id']}"
        extra = {"policy": {"pod_security": "restricted"}}
        self.vnfm.call("PUT", path, {"vim": {"extra": extra}})
        line = provides(
            type="kubernetes", auth_url="https://other", extra={"region": "b"}
        )
        self.set_action("heal_end", line)
        self.run_completed(instance_id, "heal")
        vim = self.vims()["k8s"]
        self.assertEqual("https://other", vim["auth_url"])
        self.assertEqual({"region": "b", **extra}, vim["extra"])
