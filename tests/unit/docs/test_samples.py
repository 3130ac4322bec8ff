"""The sample files in etc/ equal the generated ones."""

import io
import re
import tempfile
from pathlib import Path

import testtools
from oslo_config import cfg, generator
from oslo_policy import generator as policy_generator

from tacker_cnf.conf import opts

ETC = Path(__file__).parents[3] / "etc" / "tacker_cnf"


def generated_configuration() -> str:
    """Generate the sample of the options of this project."""
    conf = cfg.ConfigOpts()
    generator.register_cli_opts(conf)
    conf(["--namespace", "tacker_cnf", "--wrap-width", "79"])
    text = io.StringIO()
    generator.generate(conf, text)
    return text.getvalue()


def own_options(sample: str) -> dict[str, str]:
    """Return the options of this project in a sample, by group."""
    found = {}
    for section in re.split(r"^(?=\[)", sample, flags=re.MULTILINE):
        group = section.partition("]")[0].removeprefix("[")
        _, _, own = section.partition("#\n# From tacker_cnf\n#\n")
        if group in opts.OPTION_GROUPS:
            found[group] = own.partition("\n#\n# From ")[0].strip()
    return found


class SampleTest(testtools.TestCase):
    def test_configuration_sample_has_all_options(self) -> None:
        # options of libraries change with their releases
        sample = (ETC / "tacker_cnf.conf.sample").read_text()
        expected = own_options(generated_configuration())
        self.assertEqual(set(opts.OPTION_GROUPS), set(expected))
        self.assertEqual(set(expected), set(own_options(sample)))
        stale = {
            group
            for group, options in own_options(sample).items()
            if options != expected[group]
        }
        self.assertEqual(set(), stale, "stale: run tox -e genconfig")

    def test_policy_sample_has_all_policies(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "policy.yaml"
            policy_generator.generate_sample(
                ["--namespace", "tacker_cnf", "--output-file", str(path)],
                cfg.ConfigOpts(),
            )
            generated = path.read_text()
        self.assertEqual(
            generated,
            (ETC / "policy.yaml.sample").read_text(),
            "stale: run tox -e genpolicy",
        )
