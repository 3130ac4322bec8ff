import testtools

from tacker_cnf.lcm import secret_names


def _words(text: str) -> list[str]:
    return text.split()


SECRETS = _words("""
password Password userPassword admin_password passwords passwd
passphrase ssh-passphrase pwd dbPwd passcode pass adminPass admin_pass
secret client_secret clientSecret apiSecrets aws_secret_access_key
token bearer_token bearerToken BEARER-TOKEN auth_token access.token tokens
private_key privateKey ssh-private-key privateKeyPem private_key_data
client_key clientKey client-key-data apiKey api_keys access_key accessKey
ssh_key sshKey tls.key tls_key sharedKey encryptionKey
credential credentials vimCredentials Authorization psk ipsec_psk
kubeconfig jwt Cookie
""")
PLAIN = _words("""
author authority authors authType authentication key keys keyName key_name
publicKey public_key ssh_public_key primaryKey sortKey monkey keyboard
configmap_secret_paths secretName secret_key_ref imagePullSecrets
oidc_token_url tokenEndpoint tokenType maxTokensPerSecond
username endpoint region ssl_ca_cert client_cert namespace
lcm-kubernetes-def-files passwordPolicy bypass compass passthrough
accessKeyId credentialsUrl pods threads
""")


class TestIsSecret(testtools.TestCase):
    def test_names_of_secrets(self) -> None:
        shown = [n for n in SECRETS if not secret_names.is_secret(n)]
        self.assertEqual([], shown)

    def test_names_of_public_attributes(self) -> None:
        hidden = [n for n in (*PLAIN, "") if secret_names.is_secret(n)]
        self.assertEqual([], hidden)


class TestAccess(testtools.TestCase):
    def test_access_info_is_secret_unless_known_as_public(self) -> None:
        for name in (*SECRETS, "anything", "pin", "key", ""):
            self.assertTrue(secret_names.is_secret_access(name), name)
        for name in ("username", "userDomain", "project_name", "ssl_ca_cert"):
            self.assertFalse(secret_names.is_secret_access(name), name)

    def test_names_of_access_info(self) -> None:
        for name in ("accessInfo", "access_info"):
            self.assertTrue(secret_names.is_access(name))
        for name in ("interfaceInfo", "", "access", "accessInfos", "zone"):
            self.assertFalse(secret_names.is_access(name))
