#!/usr/bin/env bash
# Makes the certificates of one cluster with openssl: a CA, the controller, each
# host and user; and the folder of an intermediate CA, for a controller that
# hosts join automatically. Only its SPIFFE id identifies a certificate's owner.
set -euo pipefail

usage() {
  cat >&2 <<'EOT'
usage: deploy/certificates.sh init       DIR CLUSTER
       deploy/certificates.sh controller DIR CLUSTER
       deploy/certificates.sh host       DIR CLUSTER HOSTS...    (e.g. 'node[001-100]')
       deploy/certificates.sh user       DIR CLUSTER NAME ROLE   (hook, viewer, operator, admin)
       deploy/certificates.sh ca-dir     DIR CLUSTER OUT
       deploy/certificates.sh roots      DIR CLUSTER FILE ROOTS...
       deploy/certificates.sh cross      DIR CLUSTER NEWDIR

init makes DIR/ca.crt and DIR/ca.key; keep ca.key off the hosts. controller, host and
user make DIR/NAME.crt and DIR/NAME.key (user-NAME for users), valid one year. No file
is ever replaced: an existing pair of the same identity is kept. Remove a pair to
renew it. HOSTS are names and lists as in cluster.yaml, quoted for the shell:
'node[01-12,15],rack[1-2]n[01-18]'.

ca-dir makes the folder OUT for `clusterd-controller --ca-dir OUT`: root.crt (a
copy of DIR/ca.crt), intermediate.crt and intermediate.key, valid two years. Give
it to the controller's user, and keep DIR/ca.key where no network reaches it: with
`clusterctl token create` and `clusterd join` hosts need no more of this script.

Two steps change the root of joined hosts: see daemon/docs/security.md. OLD has the
old root, NEW the new one, made by init. roots appends a bundle to FILE, the
controller's OUT/roots.bundle: hosts then trust only the ROOTS, files such as
OLD/ca.crt. DIR/ca.key signs the bundle, so hosts must trust DIR/ca.crt by then.
Give the whole FILE to the controller; it cannot make a bundle.
  roots OLD CLUSTER OUT/roots.bundle OLD/ca.crt NEW/ca.crt
  roots NEW CLUSTER OUT/roots.bundle NEW/ca.crt
cross makes NEWDIR/cross.crt: the CA of NEWDIR, certified by that of DIR. Appended
to controller.crt, it admits hosts that missed the first bundle.

Exit status: 0 every pair exists, 1 one could not be made, 3 wrong usage.
EOT
  exit 3
}

days_ca=3650
days_intermediate=730
days_leaf=365
# A CN has at most 64 characters and only people read it: a long cluster name is
# cut to fit beside "clusterd hosts of " and a number.
max_cn=64
max_cn_cluster=37

fail() {
  echo "deploy/certificates.sh: $*" >&2
  exit 1
}

wrong() {
  echo "deploy/certificates.sh: $*" >&2
  exit 3
}

# Names become parts of ids and file names.
check_name() {
  [[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] ||
    wrong "name \"$1\", expected letters, digits, dot, dash, underscore"
}

# nearest_role WORD: the role at the smallest edit distance.
nearest_role() {
  awk -v word="${1:0:64}" '
    function least(a, b) { return a < b ? a : b }
    function edits(a, b,  i, j, d) {
      for (i = 0; i <= length(a); i++) d[i, 0] = i
      for (j = 0; j <= length(b); j++) d[0, j] = j
      for (i = 1; i <= length(a); i++)
        for (j = 1; j <= length(b); j++)
          d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1, d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)))
      return d[length(a), length(b)]
    }
    BEGIN {
      split("viewer operator admin hook", roles)
      best = roles[1]
      for (i = 2; i <= 4; i++) if (edits(word, roles[i]) < edits(word, best)) best = roles[i]
      print best
    }'
}

max_names=131072

# expand PREFIX REST: adds to `names` PREFIX with every element of the first
# brackets of REST, and likewise for the text behind them.
expand() {
  local prefix=$1 rest=$2 elements tail element first last step width number
  if ! [[ $rest =~ ^([^][]*)\[([^][]+)\](.*)$ ]]; then
    check_name "$prefix$rest"
    [ "${#names[@]}" -lt "$max_names" ] || wrong "more than $max_names names"
    names+=("$prefix$rest")
    return
  fi
  prefix+=${BASH_REMATCH[1]}
  tail=${BASH_REMATCH[3]}
  # The trailing comma keeps an empty last element.
  IFS=, read -r -a elements <<<"${BASH_REMATCH[2]},"
  for element in "${elements[@]}"; do
    [[ $element =~ ^([0-9]{1,9})(-([0-9]{1,9})(/([1-9][0-9]{0,5}))?)?$ ]] ||
      wrong "\"[$element]\" of \"$rest\", expected numbers such as [01-12,15]"
    first=${BASH_REMATCH[1]} last=${BASH_REMATCH[3]:-${BASH_REMATCH[1]}} step=${BASH_REMATCH[5]:-1}
    width=${#first}
    [ "$((10#$first))" -le "$((10#$last))" ] || wrong "\"[$element]\" of \"$rest\" runs backwards"
    for ((number = 10#$first; number <= 10#$last; number += step)); do
      expand "$prefix$(printf "%0${width}d" "$number")" "$tail"
    done
  done
}

# read_hosts LIST: adds to `names` the hosts of "node[01-12,15],login".
read_hosts() {
  local list=$1 part="" char depth=0 i
  for ((i = 0; i < ${#list}; i++)); do
    char=${list:i:1}
    case $char in
      "[") depth=$((depth + 1)) ;;
      "]") depth=$((depth - 1)) ;;
    esac
    if [ "$char" = , ] && [ "$depth" -eq 0 ]; then
      expand "" "$part"
      part=
    else
      part+=$char
    fi
  done
  expand "" "$part"
}

# new_key FILE: creates a complete file under that name, or none.
new_key() {
  (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.new" 2>/dev/null) &&
    mv -n "$1.new" "$1"
}

# certificate_says CRT TEXT: whether the certificate's own text has a line TEXT.
certificate_says() {
  grep -qxE " *$2" <(openssl x509 -in "$1" -noout -ext subjectAltName,nameConstraints 2>/dev/null)
}

made=0
kept=0
failed=0
# An error with one pair does not prevent the others.
problem() {
  echo "deploy/certificates.sh: $*" >&2
  failed=$((failed + 1))
}

# sign DIR FILE SPIFFE_ID: key and certificate DIR/FILE.{key,crt}. A key without
# a certificate is from an interrupted run, and is signed now.
sign() {
  local dir=$1 file=$2 id=$3
  if [ -e "$dir/$file.crt" ]; then
    if [ ! -e "$dir/$file.key" ]; then
      problem "$dir/$file.crt has no $file.key beside it; remove it to make a new pair"
    elif ! certificate_says "$dir/$file.crt" "URI:${id//./\\.}"; then
      problem "$dir/$file.crt is there and not of $id; remove the pair to make a new one"
    elif ! openssl verify -CAfile "$dir/ca.crt" "$dir/$file.crt" >/dev/null 2>&1; then
      problem "$dir/$file.crt is not valid any more, or not of this CA; remove the pair to renew it"
    else
      kept=$((kept + 1))
    fi
    return
  fi
  [ -e "$dir/$file.key" ] || new_key "$dir/$file.key" || fail "openssl could not make $dir/$file.key"
  local usage=clientAuth
  # Hosts and users are never servers.
  [ "$id" != "spiffe://$cluster/controller" ] || usage=serverAuth,$usage
  if openssl req -new -key "$dir/$file.key" -subj "/CN=${file:0:$max_cn}" 2>/dev/null |
    openssl x509 -req -days "$days_leaf" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" \
      -set_serial "0x$(openssl rand -hex 16)" -sha256 -out "$dir/$file.crt.new" -extfile <(
        echo "basicConstraints=critical,CA:FALSE"
        echo "keyUsage=critical,digitalSignature"
        echo "extendedKeyUsage=$usage"
        echo "subjectAltName=URI:$id"
      ) 2>/dev/null && mv -n "$dir/$file.crt.new" "$dir/$file.crt"; then
    made=$((made + 1))
  else
    problem "openssl could not sign $file"
  fi
}

# make_ca_dir DIR OUT CLUSTER: key first, so that a rerun can continue.
make_ca_dir() {
  local dir=$1 out=$2 cluster=$3 number
  (umask 077 && mkdir -p "$out") || fail "$out cannot be made"
  if [ -e "$out/intermediate.crt" ]; then
    [ -e "$out/intermediate.key" ] ||
      fail "$out/intermediate.crt has no intermediate.key beside it; remove it to make a new pair"
    openssl verify -CAfile "$dir/ca.crt" "$out/intermediate.crt" >/dev/null 2>&1 ||
      fail "$out/intermediate.crt is not valid any more, or not of $dir/ca.crt; remove the pair to make a new one"
    echo "$out is there already and is kept" >&2
    return
  fi
  [ -e "$out/intermediate.key" ] || new_key "$out/intermediate.key" ||
    fail "openssl could not make $out/intermediate.key"
  # The number distinguishes the intermediates of several controllers.
  number=$(openssl rand -hex 4) || fail "openssl could not make a number"
  openssl req -new -key "$out/intermediate.key" \
    -subj "/CN=clusterd hosts of ${cluster:0:$max_cn_cluster} $number" 2>/dev/null |
    openssl x509 -req -days "$days_intermediate" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" \
      -set_serial "0x$(openssl rand -hex 16)" -sha256 -out "$out/intermediate.crt.new" -extfile <(
        echo "basicConstraints=critical,CA:TRUE,pathlen:0"
        echo "keyUsage=critical,keyCertSign,cRLSign"
        echo "nameConstraints=critical,permitted;URI:$cluster"
        echo "subjectKeyIdentifier=hash"
        echo "authorityKeyIdentifier=keyid"
      ) 2>/dev/null || fail "openssl could not sign the intermediate CA"
  cp "$dir/ca.crt" "$out/root.crt" || fail "$out/root.crt cannot be made"
  chmod 0644 "$out/root.crt" "$out/intermediate.crt.new"
  mv -n "$out/intermediate.crt.new" "$out/intermediate.crt"
}

# make_bundle DIR CLUSTER FILE ROOTS...: form in config/identity/root_bundle.h.
# FILE is replaced only by a bundle that hosts accept.
make_bundle() {
  local dir=$1 cluster=$2 file=$3 last="" own root pem text signature
  shift 3
  own=$(openssl x509 -in "$dir/ca.crt") || fail "openssl could not read $dir/ca.crt"
  if [ -e "$file" ]; then
    last=$(awk '/^clusterd roots of / { text = "" } { text = text $0 "\n" } END { printf "%s", text }' "$file") ||
      fail "$file cannot be read"
    [[ $last == "clusterd roots of $cluster"$'\n'number* ]] || fail "$file has no bundle of cluster \"$cluster\""
    [[ $last == *"$own"* ]] ||
      fail "$dir/ca.crt is not in the newest bundle of $file: hosts that have it take none that $dir/ca.key signs"
  fi
  text="clusterd roots of $cluster"$'\n'"number $(($(sed -n 's/^number //p' <<<"$last") + 1))"$'\n'
  for root in "$@"; do
    certificate_says "$root" "URI:${cluster//./\\.}" || fail "$root is not a CA of cluster \"$cluster\""
    [ "$(grep -c 'BEGIN CERTIFICATE' "$root")" -eq 1 ] || fail "$root has more than one certificate"
    pem=$(openssl x509 -in "$root") || fail "openssl could not read $root"
    text+=$pem$'\n'
  done
  signature=$(printf '%s' "$text" | openssl dgst -sha256 -sign "$dir/ca.key" | base64 -w0) ||
    fail "openssl could not sign with $dir/ca.key; $file is as it was"
  printf '%s' "$text" | openssl dgst -sha256 -verify <(openssl x509 -in "$dir/ca.crt" -noout -pubkey) \
    -signature <(base64 -d <<<"$signature") >/dev/null 2>&1 ||
    fail "$dir/ca.key has not signed what $dir/ca.crt verifies: are they a pair? $file is as it was"
  { [ ! -e "$file" ] || cat "$file"; } >"$file.new" || fail "$file.new cannot be written"
  printf '%ssignature %s\n' "$text" "$signature" >>"$file.new" || fail "$file.new cannot be written"
  mv "$file.new" "$file" || fail "$file cannot be written"
}

# make_cross DIR NEWDIR CLUSTER: the old CA signs the new CA's key.
make_cross() {
  local dir=$1 new=$2 cluster=$3
  openssl x509 -x509toreq -in "$new/ca.crt" -signkey "$new/ca.key" 2>/dev/null |
    openssl x509 -req -days "$days_intermediate" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" \
      -set_serial "0x$(openssl rand -hex 16)" -sha256 -out "$new/cross.crt.new" -extfile <(
        echo "basicConstraints=critical,CA:TRUE"
        echo "keyUsage=critical,keyCertSign,cRLSign"
        echo "nameConstraints=critical,permitted;URI:$cluster"
        echo "subjectKeyIdentifier=hash"
        echo "authorityKeyIdentifier=keyid"
      ) 2>/dev/null || fail "openssl could not sign $new/ca.crt"
  mv "$new/cross.crt.new" "$new/cross.crt"
}

[ $# -ge 3 ] || usage
verb=$1 dir=$2 cluster=$3
shift 3
case $verb in
  init | controller | host | user | ca-dir | roots | cross) ;;
  *) wrong "\"$verb\", expected init, controller, host, user, ca-dir, roots or cross" ;;
esac
[[ $cluster =~ ^[a-z0-9][a-z0-9._-]*$ ]] ||
  wrong "cluster \"$cluster\", expected lower-case letters, digits, dot, dash, underscore"
command -v openssl >/dev/null || fail "openssl is not installed"
if [ "$verb" != init ]; then
  [ -r "$dir/ca.key" ] || fail "$dir/ca.key is not there; run init first"
  certificate_says "$dir/ca.crt" "URI:${cluster//./\\.}" || fail "$dir/ca.crt is not a CA of cluster \"$cluster\""
fi

case $verb in
  init)
    [ $# -eq 0 ] || usage
    mkdir -p "$dir"
    if [ -e "$dir/ca.crt" ] && [ -e "$dir/ca.key" ]; then
      certificate_says "$dir/ca.crt" "URI:${cluster//./\\.}" || fail "$dir/ca.crt is a CA of another cluster"
      echo "$dir/ca.crt is there already and is kept; a new CA would lock every host out" >&2
      exit 0
    fi
    [ ! -e "$dir/ca.crt" ] || fail "$dir/ca.crt exists already, without its key; a new CA would lock every host out"
    [ -e "$dir/ca.key" ] || new_key "$dir/ca.key" || fail "openssl could not make $dir/ca.key"
    # The number distinguishes the old CA from the new one, also for OpenSSL.
    number=$(openssl rand -hex 4) || fail "openssl could not make a number"
    openssl req -x509 -new -key "$dir/ca.key" -days "$days_ca" -sha256 \
      -subj "/CN=clusterd CA of ${cluster:0:$max_cn_cluster} $number" -out "$dir/ca.crt.new" \
      -addext "keyUsage=critical,keyCertSign,cRLSign" \
      -addext "nameConstraints=critical,permitted;URI:$cluster" 2>/dev/null ||
      fail "openssl could not make the CA"
    mv -n "$dir/ca.crt.new" "$dir/ca.crt"
    exit 0
    ;;
  controller)
    [ $# -eq 0 ] || usage
    sign "$dir" controller "spiffe://$cluster/controller"
    ;;
  host)
    [ $# -ge 1 ] || usage
    names=()
    for list in "$@"; do read_hosts "$list"; done
    for name in "${names[@]}"; do sign "$dir" "$name" "spiffe://$cluster/host/$name"; done
    ;;
  user)
    [ $# -eq 2 ] || usage
    check_name "$1"
    case ${1,,} in
      clusterd | clusterd-controller) wrong "user \"$1\" would pass for one of our programs" ;;
    esac
    case $2 in
      hook | viewer | operator | admin) ;;
      *) wrong "role \"$2\", expected hook, viewer, operator or admin; did you mean \"$(nearest_role "${2,,}")\"?" ;;
    esac
    sign "$dir" "user-$1" "spiffe://$cluster/user/$1/role/$2"
    ;;
  ca-dir)
    [ $# -eq 1 ] || usage
    make_ca_dir "$dir" "$1" "$cluster"
    exit 0
    ;;
  roots)
    [ $# -ge 2 ] || usage
    make_bundle "$dir" "$cluster" "$@"
    exit 0
    ;;
  cross)
    [ $# -eq 1 ] || usage
    certificate_says "$1/ca.crt" "URI:${cluster//./\\.}" || fail "$1/ca.crt is not a CA of cluster \"$cluster\""
    make_cross "$dir" "$1" "$cluster"
    exit 0
    ;;
esac
if [ "$kept" -gt 0 ] || [ "$failed" -gt 0 ]; then
  echo "$made made, $kept kept that were there, $failed failed" >&2
fi
[ "$failed" -eq 0 ]
