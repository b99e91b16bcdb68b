#!/usr/bin/env bash
# Makes the certificates of one cluster with openssl: a CA, the controller, one
# per host, one per user. Who somebody is stands in the certificate as a SPIFFE
# id; nothing else in it is looked at.
set -euo pipefail

usage() {
  cat >&2 <<'EOT'
usage: deploy/certificates.sh init       DIR CLUSTER
       deploy/certificates.sh controller DIR CLUSTER
       deploy/certificates.sh host       DIR CLUSTER NAME...
       deploy/certificates.sh user       DIR CLUSTER NAME ROLE   (viewer, operator or admin)

init makes DIR/ca.crt and DIR/ca.key; keep ca.key off the hosts. The others make
DIR/NAME.crt and DIR/NAME.key (user-NAME for users), valid one year,
and never replace a file: remove the old pair to renew it.
EOT
  exit 3
}

days_ca=3650
days_leaf=365

fail() {
  echo "deploy/certificates.sh: $*" >&2
  exit 1
}

# Names go into ids and file names.
check_name() {
  [[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] ||
    { echo "deploy/certificates.sh: name \"$1\", expected letters, digits, dot, dash, underscore" >&2; exit 3; }
}

new_key() {
  [ ! -e "$1" ] || fail "$1 exists already; remove it to make a new one"
  (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null)
}

# sign DIR FILE SPIFFE_ID: key and certificate DIR/FILE.{key,crt}.
sign() {
  local dir=$1 file=$2 id=$3
  [ -r "$dir/ca.key" ] || fail "$dir/ca.key is not there; run init first"
  [ ! -e "$dir/$file.crt" ] || fail "$dir/$file.crt exists already; remove it to renew it"
  new_key "$dir/$file.key"
  openssl req -new -key "$dir/$file.key" -subj "/CN=$file" 2>/dev/null |
    openssl x509 -req -days "$days_leaf" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" \
      -set_serial "0x$(openssl rand -hex 16)" -sha256 -out "$dir/$file.crt" -extfile <(
        echo "basicConstraints=critical,CA:FALSE"
        echo "keyUsage=critical,digitalSignature"
        echo "extendedKeyUsage=serverAuth,clientAuth"
        echo "subjectAltName=URI:$id"
      ) 2>/dev/null || fail "openssl could not sign $file"
}

[ $# -ge 3 ] || usage
verb=$1 dir=$2 cluster=$3
shift 3
[[ $cluster =~ ^[a-z0-9][a-z0-9._-]*$ ]] ||
  { echo "deploy/certificates.sh: cluster \"$cluster\", expected lower-case letters, digits, dot, dash, underscore" >&2; exit 3; }
command -v openssl >/dev/null || fail "openssl is not installed"

case $verb in
  init)
    [ $# -eq 0 ] || usage
    mkdir -p "$dir"
    [ ! -e "$dir/ca.crt" ] || fail "$dir/ca.crt exists already; a new CA would lock every host out"
    new_key "$dir/ca.key"
    openssl req -x509 -new -key "$dir/ca.key" -days "$days_ca" -sha256 \
      -subj "/CN=clusterd CA of $cluster" -out "$dir/ca.crt" \
      -addext "keyUsage=critical,keyCertSign,cRLSign" \
      -addext "nameConstraints=critical,permitted;URI:$cluster" 2>/dev/null ||
      fail "openssl could not make the CA"
    ;;
  controller)
    [ $# -eq 0 ] || usage
    sign "$dir" controller "spiffe://$cluster/controller"
    ;;
  host)
    [ $# -ge 1 ] || usage
    for name in "$@"; do check_name "$name"; done
    for name in "$@"; do sign "$dir" "$name" "spiffe://$cluster/host/$name"; done
    ;;
  user)
    [ $# -eq 2 ] || usage
    check_name "$1"
    case $2 in viewer | operator | admin) ;; *) usage ;; esac
    sign "$dir" "user-$1" "spiffe://$cluster/user/$1/role/$2"
    ;;
  *) usage ;;
esac
