"""[scripts]: isolation and limits of the code in VNF packages."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "run",
        default="signed",
        choices=[
            ("none", "That of no package."),
            (
                "signed",
                (
                    "That of packages whose signature was verified when they "
                    "were onboarded, see [catalogue] signatures."
                ),
            ),
            ("all", "That of all packages."),
        ],
        help="The VNF packages whose code runs: management scripts, "
        "coordination scripts and user data. An operation that needs the code "
        "of another package fails. Modules of this service that replace "
        "scripts of the reference implementation always run.",
    ),
    cfg.BoolOpt(
        "unlisted_files",
        default=False,
        help="Whether a request may have any Python file of a VNF package "
        "run, as user data or to coordinate. False: only those that the VNFD "
        "(as an artifact of a node), TOSCA.meta or the manifest names. True "
        "is for packages, such as those made for OpenStack Tacker, that name "
        "none of their files.",
    ),
    cfg.StrOpt(
        "isolation",
        default="bubblewrap",
        choices=[
            (
                "bubblewrap",
                (
                    "A sandbox for each script. It needs the program bwrap, "
                    "and user namespaces. Without them scripts fail."
                ),
            ),
            (
                "none",
                (
                    "No sandbox: a script has all rights of the conductor. "
                    "It can read the configuration and all secrets."
                ),
            ),
        ],
        help="How the code of VNF packages is isolated from this service.",
    ),
    cfg.ListOpt(
        "network_packages",
        default=[],
        help="VNF packages whose code may use the network of the conductor's "
        "host, all of it, with the loopback addresses: their SHA-256, as "
        "`sha256sum` shows that of the uploaded file; `*` means all packages. "
        "The code of other packages has no network in its sandbox.",
    ),
    cfg.ListOpt(
        "readable_paths",
        default=[],
        help="Further files and directories that scripts may read in their "
        "sandbox, such as modules that they import.",
    ),
    cfg.ListOpt(
        "writable_paths",
        default=[],
        help="Further files and directories that scripts may change in their "
        "sandbox; those of all VNF packages.",
    ),
    cfg.IntOpt(
        "max_disk_bytes",
        default=256 * 1024**2,
        min=1,
        help="Size of /tmp in the sandbox of a script, which contains its "
        "working directory, in bytes. It is in memory. The size of /dev/shm is "
        "the same.",
    ),
    cfg.IntOpt(
        "max_state_bytes",
        default=1024**3,
        min=0,
        help="Size of the persistent directory of a VNF instance, in bytes, "
        "about once a second while its script runs; 0: no limit. A script "
        "that exceeds it is killed.",
    ),
    cfg.IntOpt(
        "max_processes",
        default=256,
        min=0,
        help="Number of processes and threads of a script in its sandbox; 0: "
        "no limit. It needs Linux 5.14, and a conductor that does not run as "
        "root.",
    ),
    cfg.IntOpt(
        "max_open_files",
        default=1024,
        min=0,
        help="Number of files that a process of a script may have open; 0: no "
        "limit of its own.",
    ),
    cfg.IntOpt(
        "max_cpu_seconds",
        default=900,
        min=0,
        help="Processor time of each process of a script, in seconds; 0: no "
        "limit.",
    ),
    cfg.IntOpt(
        "max_running",
        default=32,
        min=1,
        help="Number of scripts that a conductor runs concurrently. "
        "Operations whose scripts wait or run do not count as [conductor] "
        "workers.",
    ),
    cfg.IntOpt(
        "max_dry_runs",
        default=4,
        min=1,
        help="Number of scripts, of user data, that a process of the API "
        "runs concurrently for dry runs; further dry runs are answered 503.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=900.0,
        min=0.1,
        help="Maximum seconds for a management script.",
    ),
    cfg.IntOpt(
        "max_memory_bytes",
        default=2 * 1024**3,
        min=0,
        help="Address space of a script, in bytes; 0: no limit.",
    ),
    cfg.IntOpt(
        "max_file_bytes",
        default=1024**3,
        min=0,
        help="Largest file a script may write, in bytes; 0: no limit.",
    ),
    cfg.IntOpt(
        "max_output_bytes",
        default=1024**2,
        min=1,
        help="Maximum output of a script on stdout, in bytes.",
    ),
    cfg.IntOpt(
        "max_log_bytes",
        default=64 * 1024,
        min=1,
        help="Number of bytes of a script's stderr that are stored: the last "
        "ones.",
    ),
    cfg.BoolOpt(
        "vim_credentials",
        default=True,
        help="Whether the input of scripts contains the credentials of the "
        "VIMs of their VNF. Scripts that call the VIM need them.",
    ),
    cfg.BoolOpt(
        "replace_reference_drivers",
        default=True,
        help="Whether to replace a management driver of OpenStack Tacker, "
        "which cannot run without it: a script that imports tacker and "
        "defines ContainerUpdateMgmtDriver with modify_information_end. "
        "False: the script runs as it is.",
    ),
)
