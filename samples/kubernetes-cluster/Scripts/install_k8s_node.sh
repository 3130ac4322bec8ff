#!/bin/bash
# Turns a Debian or Ubuntu host into a node of a Kubernetes cluster, by kubeadm.
#
# usage, as root:
#   install_k8s_node.sh -m MASTERS -n OWN -i CLUSTER -p POD_CIDR -a SERVICE_CIDR
#   install_k8s_node.sh -w OWN -i CLUSTER
#
#   -m  addresses of all masters, separated by commas
#   -n  address of this host, which is to be a master
#   -w  address of this host, which is to be a worker
#   -i  virtual IP address of the cluster, which one of the masters has
#   -p  network of the pods
#   -a  network of the services
#   -e  external address of the cluster, if it is another
#
# To join, set KUBEADM_TOKEN and KUBEADM_CA_CERT_HASH in the environment, for a
# master KUBEADM_CERTIFICATE_KEY too; a master without them is the first one.
# http_proxy, https_proxy and no_proxy are used.
#
# The script is idempotent: it continues where it failed, and changes nothing on
# an installed node. /etc/default/install_k8s_node overrides the variables below.
set -euo pipefail

# minor version of what is installed where it is absent
KUBERNETES_VERSION=v1.34
# the network of the pods: a file, or a URL
NETWORK_MANIFEST=https://raw.githubusercontent.com/projectcalico/calico/v3.31.0/manifests/calico.yaml
# where each master's HAProxy listens for the API
API_PORT=16443
DONE=/var/lib/install_k8s_node
[ ! -r /etc/default/install_k8s_node ] || . /etc/default/install_k8s_node

fail() {
    echo "install_k8s_node: $*" >&2
    exit 1
}

MASTERS='' OWN='' CLUSTER='' POD_CIDR='' SERVICE_CIDR='' OUTSIDE='' ROLE=''
while getopts m:n:w:i:p:a:e: option; do
    case $option in
    m) MASTERS=$OPTARG ;;
    n) OWN=$OPTARG ROLE=master ;;
    w) OWN=$OPTARG ROLE=worker ;;
    i) CLUSTER=$OPTARG ;;
    p) POD_CIDR=$OPTARG ;;
    a) SERVICE_CIDR=$OPTARG ;;
    e) OUTSIDE=$OPTARG ;;
    *) fail "an option is unknown" ;;
    esac
done
[ "$(id -u)" = 0 ] || fail "only root can do this"
[ -n "$OWN" ] || fail "-n or -w is required: the address of this host"
[ -n "$CLUSTER" ] || fail "-i is required: the address of the cluster"
if [ "$ROLE" = master ]; then
    [ -n "$MASTERS" ] || fail "-m is required: the addresses of the masters"
    [ -n "$POD_CIDR" ] || fail "-p is required: the network of the pods"
    [ -n "$SERVICE_CIDR" ] ||
        fail "-a is required: the network of the services"
    [[ ,$MASTERS, == *,$OWN,* ]] || fail "$OWN is none of $MASTERS"
fi
for text in "${MASTERS//,/}" "$OWN" "$CLUSTER" "$OUTSIDE" "$POD_CIDR" \
    "$SERVICE_CIDR"; do
    [[ $text =~ ^[0-9a-fA-F.:/]*$ ]] || fail "$text is no address"
done
TOKEN=${KUBEADM_TOKEN:-}
HASH=${KUBEADM_CA_CERT_HASH:-}
KEY=${KUBEADM_CERTIFICATE_KEY:-}
[ -n "$TOKEN" ] || [ "$ROLE" = master ] || fail "KUBEADM_TOKEN is not set"
[ -z "$TOKEN" ] || [ -n "$HASH" ] || fail "KUBEADM_CA_CERT_HASH is not set"
[ -z "$TOKEN" ] || [ "$ROLE" = worker ] || [ -n "$KEY" ] ||
    fail "KUBEADM_CERTIFICATE_KEY is not set"
for text in "$TOKEN" "$HASH" "$KEY"; do
    [[ $text =~ ^[0-9a-z.:]*$ ]] || fail "a token, hash or key has odd letters"
done
# no other program needs them
unset KUBEADM_TOKEN KUBEADM_CA_CERT_HASH KUBEADM_CERTIFICATE_KEY
NAME=$ROLE-${OWN//[.:]/-}
export DEBIAN_FRONTEND=noninteractive
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ -n "${http_proxy:-}${https_proxy:-}" ]; then
    export no_proxy="${no_proxy:+$no_proxy,}127.0.0.1,localhost,$OWN,$CLUSTER"
    no_proxy+=${MASTERS:+,$MASTERS}${POD_CIDR:+,$POD_CIDR}
    no_proxy+=${SERVICE_CIDR:+,$SERVICE_CIDR}
fi
cd /
mkdir -p "$DONE"
exec 9>"$DONE/lock"
flock 9

# Runs a command unless it has succeeded in an earlier run.
once() { # NAME COMMAND ...
    [ ! -e "$DONE/$1" ] || return 0
    echo "install_k8s_node: $1"
    # a process in the background must not inherit the lock
    "${@:2}" 9>&-
    touch "$DONE/$1"
}

has_systemd() {
    [ -d /run/systemd/system ]
}

# ---- all nodes

install_packages() {
    local wanted=() program
    declare -A package=([containerd]=containerd [curl]=curl [gpg]=gpg)
    if [ "$ROLE" = master ]; then
        package+=([etcdctl]=etcd-client [haproxy]=haproxy
            [keepalived]=keepalived)
    fi
    for program in "${!package[@]}"; do
        command -v "$program" >/dev/null || wanted+=("${package[$program]}")
    done
    if [ ${#wanted[@]} -gt 0 ]; then
        apt-get update -q
        apt-get install -q -y --no-install-recommends "${wanted[@]}"
    fi
    for program in kubeadm kubelet kubectl; do
        if ! command -v $program >/dev/null; then
            install_kubernetes
            return
        fi
    done
}

install_kubernetes() {
    local from=https://pkgs.k8s.io/core:/stable:/$KUBERNETES_VERSION/deb/
    local key=/etc/apt/keyrings/kubernetes.gpg
    mkdir -p /etc/apt/keyrings
    curl -fsSL "${from}Release.key" | gpg --batch --yes --dearmor -o $key
    echo "deb [signed-by=$key] $from /" >/etc/apt/sources.list.d/kubernetes.list
    apt-get update -q
    apt-get install -q -y kubeadm kubelet kubectl
    apt-mark hold kubeadm kubelet kubectl
}

set_up_system() {
    printf '%s\n' overlay br_netfilter >/etc/modules-load.d/kubernetes.conf
    modprobe overlay
    modprobe br_netfilter
    printf '%s = 1\n' net.ipv4.ip_forward \
        net.bridge.bridge-nf-call-iptables \
        net.bridge.bridge-nf-call-ip6tables >/etc/sysctl.d/90-kubernetes.conf
    sysctl -q -e -p /etc/sysctl.d/90-kubernetes.conf
    swapoff -a
    sed -i '/\sswap\s/s/^[^#]/#&/' /etc/fstab
    has_systemd || return 0
    mkdir -p /etc/containerd
    containerd config default |
        sed 's/SystemdCgroup = false/SystemdCgroup = true/' \
            >/etc/containerd/config.toml
    if [ -n "${http_proxy:-}${https_proxy:-}" ]; then
        mkdir -p /etc/systemd/system/containerd.service.d
        printf '%s\n' '[Service]' "Environment=HTTP_PROXY=${http_proxy:-}" \
            "Environment=HTTPS_PROXY=${https_proxy:-}" \
            "Environment=NO_PROXY=$no_proxy" \
            >/etc/systemd/system/containerd.service.d/proxy.conf
        systemctl daemon-reload
    fi
    systemctl enable kubelet containerd
    systemctl restart containerd
}

# ---- access to the API: HAProxy, at an address that keepalived fails over

# Once only: the management driver edits the lines of servers afterwards.
configure_haproxy() {
    local new=/etc/haproxy/haproxy.cfg.new master
    {
        cat <<END
# made by install_k8s_node.sh
global
    log /dev/log local0
    user haproxy
    group haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin expose-fd listeners

defaults
    log global
    mode tcp
    timeout connect 5s
    timeout check 3s
    timeout client 1h
    timeout server 1h

frontend kubernetes
    bind *:$API_PORT
    default_backend masters

backend masters
    balance roundrobin
    option redispatch
    retries 3
    option httpchk GET /healthz
    default-server check-ssl verify none inter 1s fall 2 rise 1
END
        for master in ${MASTERS//,/ }; do
            echo "    server master-${master//[.:]/-} $master:6443 check"
        done
    } >$new
    haproxy -c -f $new
    mv $new /etc/haproxy/haproxy.cfg
    service haproxy restart
}

configure_keepalived() {
    local interface router
    # awk reads to the end: else "ip" may die of a broken pipe, and we of that
    interface=$(ip -o address show | awk -v own="$OWN" \
        '{ split($4, at, "/") } at[1] == own && !n++ { print $2 }')
    [ -n "$interface" ] || fail "this host does not have the address $OWN"
    router=$((0x$(sha256sum <<<"$CLUSTER" | cut -c1-4) % 255 + 1))
    cat >/etc/keepalived/keepalived.conf <<END
# made by install_k8s_node.sh
global_defs {
    router_id $NAME
    vrrp_version 3
    script_user root
    enable_script_security
}

vrrp_script haproxy {
    script "/usr/bin/pgrep -x haproxy"
    interval 1
    fall 2
    rise 1
}

vrrp_instance kubernetes {
    state BACKUP
    nopreempt
    interface $interface
    virtual_router_id $router
    priority 100
    advert_int 0.5
    virtual_ipaddress {
        $CLUSTER
    }
    track_script {
        haproxy
    }
}
END
    service keepalived restart
}

# Waits until HAProxy listens at the address of the cluster.
await_cluster() {
    local end=$((SECONDS + 60))
    until timeout 3 bash -c "exec 3<>/dev/tcp/$CLUSTER/$API_PORT" 2>/dev/null
    do
        [ $SECONDS -lt $end ] || fail "$CLUSTER:$API_PORT does not answer"
        sleep 0.2
    done
}

# ---- kubeadm

registration() {
    cat <<END
  "nodeRegistration": {
    "name": "$NAME",
    "kubeletExtraArgs": [{"name": "node-ip", "value": "$OWN"}]
  },
END
}

# The first bootstrap token is not used.
init_configuration() {
    cat <<END
{
  "apiVersion": "kubeadm.k8s.io/v1beta4",
  "kind": "InitConfiguration",
$(registration)
  "bootstrapTokens": [{"ttl": "1m0s"}],
  "localAPIEndpoint": {"advertiseAddress": "$OWN", "bindPort": 6443}
}
---
{
  "apiVersion": "kubeadm.k8s.io/v1beta4",
  "kind": "ClusterConfiguration",
  "controlPlaneEndpoint": "$CLUSTER:$API_PORT",
  "apiServer": {"certSANs": ["$CLUSTER"${OUTSIDE:+, \"$OUTSIDE\"}]},
  "networking": {"podSubnet": "$POD_CIDR", "serviceSubnet": "$SERVICE_CIDR"}
}
END
}

join_configuration() {
    cat <<END
{
  "apiVersion": "kubeadm.k8s.io/v1beta4",
  "kind": "JoinConfiguration",
$(registration)
END
    [ "$ROLE" = worker ] || cat <<END
  "controlPlane": {
    "certificateKey": "$KEY",
    "localAPIEndpoint": {"advertiseAddress": "$OWN", "bindPort": 6443}
  },
END
    cat <<END
  "discovery": {
    "bootstrapToken": {
      "token": "$TOKEN",
      "apiServerEndpoint": "$CLUSTER:$API_PORT",
      "caCertHashes": ["$HASH"]
    }
  }
}
END
}

run_kubeadm() {
    local configuration
    # undo an earlier attempt
    if [ -e "$DONE/tried" ]; then
        kubeadm reset --force
    fi
    touch "$DONE/tried"
    configuration=$(mktemp -p /run)
    # shellcheck disable=SC2064
    trap "rm -f $configuration" EXIT
    if [ -n "$TOKEN" ]; then
        join_configuration >"$configuration"
        join "$configuration"
    else
        init_configuration >"$configuration"
        kubeadm init --skip-token-print --config "$configuration"
    fi
    rm -f "$configuration"
}

# Joins. kubeadm refuses that while the Node of an interrupted attempt is ready:
# until the cluster detects that "reset" has stopped its kubelet.
join() { # CONFIGURATION
    local end=$((SECONDS + 180)) output=$DONE/output
    until kubeadm join --config "$1" 2>&1 | tee "$output" >&2; do
        grep -q 'already exists in the cluster' "$output" || return 1
        [ $SECONDS -lt $end ] || return 1
        kubeadm reset --force
        sleep 3
    done
    rm -f "$output"
}

make_network() {
    kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f "$NETWORK_MANIFEST"
}

await_api() {
    local end=$((SECONDS + 120))
    until kubectl --kubeconfig /etc/kubernetes/admin.conf \
        --server "https://$OWN:6443" get --raw /healthz >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "the API server of $OWN is not healthy"
        sleep 0.5
    done
}

once packages install_packages
once system set_up_system
if [ "$ROLE" = master ]; then
    once haproxy configure_haproxy
    once keepalived configure_keepalived
    [ -e "$DONE/node" ] || await_cluster
fi
once node run_kubeadm
if [ "$ROLE" = master ]; then
    [ -n "$TOKEN" ] || once network make_network
    once api await_api
fi
echo "install_k8s_node: $NAME is done"
