# Headless Chromium for tests; source it. It writes only below $work.
# shellcheck shell=bash

work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/browser.XXXXXX")
trap 'rm -rf "$work"' EXIT

browser=(chromium-headless-shell --headless --no-sandbox --disable-gpu
  --disable-background-networking --disable-component-update --disable-sync
  --no-first-run --disable-dev-shm-usage)

# A network namespace of its own, without so much as a loopback that is up; for
# others than root, with a user namespace.
alone=(unshare --net)
[ "$(id -u)" -eq 0 ] || alone=(unshare --user --map-root-user --net)

# Prints why no browser can be tested; prints nothing if one can.
obstacle() {
  if ! command -v chromium-headless-shell >/dev/null; then
    echo "chromium-headless-shell is not installed"
  elif ! "${alone[@]}" true 2>/dev/null; then
    echo "the kernel refuses a network namespace"
  fi
}

# browse FILE OPTION...: opens the file. $work/console gets the console's output, refusals of its
# policy too, and $work/net the requests to the network.
browse() {
  local file=$1
  shift
  rm -rf "$work/profile" "$work/net" "$work/console"
  timeout 120 "${alone[@]}" "${browser[@]}" --user-data-dir="$work/profile" \
    --log-net-log="$work/net" --enable-logging=stderr "$@" "file://$file" \
    2>"$work/console"
}
