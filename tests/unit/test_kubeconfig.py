"""Conversion of a kubeconfig to a VIM file."""

import base64
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tools import kubeconfig


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def a_config(user: Any, **cluster: Any) -> dict[str, Any]:
    other = {"server": "https://other"}
    current_cluster = {"server": "https://mine", **cluster}
    return {
        "current-context": "b",
        "contexts": [
            {"name": "a", "context": {"cluster": "c1", "user": "u1"}},
            {"name": "b", "context": {"cluster": "c2", "user": "u2"}},
        ],
        "clusters": [
            {"name": "c1", "cluster": other},
            {"name": "c2", "cluster": current_cluster},
        ],
        "users": [
            {"name": "u1", "user": {"token": "other"}},
            {"name": "u2", "user": user},
        ],
    }


class TestVim(testtools.TestCase):
    def test_the_current_context_is_taken(self) -> None:
        config = a_config(
            {"token": "t"}, **{"certificate-authority-data": b64("PEM")}
        )
        self.assertEqual("https://mine", kubeconfig.server(config))
        self.assertEqual(
            {
                "auth_url": "https://mine",
                "type": "kubernetes",
                "project_name": "default",
                "bearer_token": "t",
                "ssl_ca_cert": "PEM",
            },
            kubeconfig.vim(config),
        )

    def test_paths_are_relative_to_the_kubeconfig(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        for name in ("cert", "key", "ca", "token"):
            (folder / name).write_text(f"{name} text")
        config = a_config(
            {"client-certificate": "cert", "client-key": "key"},
            **{"certificate-authority": "ca"},
        )
        vim = kubeconfig.vim(config, folder)
        self.assertEqual("cert text", vim["client_cert"])
        self.assertEqual("key text", vim["client_key"])
        self.assertEqual("ca text", vim["ssl_ca_cert"])
        vim = kubeconfig.vim(a_config({"tokenFile": "token"}), folder)
        self.assertEqual("token text", vim["bearer_token"])

    def test_unsupported_kubeconfigs_are_rejected(self) -> None:
        insecure = {"insecure-skip-tls-verify": True}
        missing_context = a_config({"token": "t"}) | {"current-context": "x"}
        bad = {"certificate-authority-data": "###"}
        for config, says in (
            (a_config({"exec": {"command": "x"}}), "plugins"),
            (a_config({"client-certificate-data": b64("c")}), "its key"),
            (a_config({"token": "t"}, **insecure), "disables TLS"),
            (a_config({"token": "t"}, **bad), "not a base64"),
            (missing_context, "current-context 'x'"),
            ({"clusters": []}, "current-context None"),
        ):
            error = self.assertRaises(
                errors.BadRequest, kubeconfig.vim, config
            )
            self.assertIn(says, str(error))

    def test_a_file_that_is_no_kubeconfig(self) -> None:
        path = Path(self.useFixture(fixtures.TempDir()).path) / "config"
        for text in ("a: [", "just text", "{}", "\x00"):
            path.write_text(text)
            self.assertRaises(errors.BadRequest, kubeconfig.read, path)
