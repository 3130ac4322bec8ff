"""Files that describe a VIM."""

import testtools

from tacker_cnf.cli.vim_commands import new_vim


class TestNewVim(testtools.TestCase):
    def test_kubernetes(self) -> None:
        self.assertEqual(
            {
                "type": "kubernetes",
                "auth_url": "https://k8s.example:6443",
                "vim_project": {"name": "default"},
                "auth_cred": {"bearer_token": "t", "ssl_ca_cert": "PEM"},
                "extra": {"use_helm": True},
            },
            new_vim(
                {
                    "type": "kubernetes",
                    "auth_url": "https://k8s.example:6443",
                    "project_name": "default",
                    "bearer_token": "t",
                    "ssl_ca_cert": "PEM",
                    "extra": {"use_helm": True},
                }
            ),
        )

    def test_openstack_is_the_default(self) -> None:
        self.assertEqual(
            {
                "type": "openstack",
                "auth_url": "https://keystone.example/v3",
                "vim_project": {
                    "name": "admin",
                    "project_domain_name": "Default",
                },
                "auth_cred": {
                    "username": "u",
                    "password": "p",
                    "user_domain_name": "Default",
                    "cert_verify": "False",
                },
            },
            new_vim(
                {
                    "auth_url": "https://keystone.example/v3",
                    "project_name": "admin",
                    "project_domain_name": "Default",
                    "username": "u",
                    "password": "p",
                    "user_domain_name": "Default",
                    "cert_verify": "False",
                }
            ),
        )
