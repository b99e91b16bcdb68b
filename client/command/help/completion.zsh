#compdef clusterctl
# zsh completion of clusterctl, as `clusterctl completion zsh` prints it.
_clusterctl() {
  local line
  local -a found shown
  for line in "${(@f)$(command clusterctl complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}"; do
    [[ -n $line ]] || continue
    if [[ $line == :files ]]; then
      [[ $PREFIX != --*=* ]] || compset -P '*='
      _files
      return
    fi
    found+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  compadd -l -d shown -a found
}
# Sourced, it is made known here; found in $fpath, it is what is called.
if [[ ${funcstack[1]} == _clusterctl ]]; then
  _clusterctl "$@"
else
  compdef _clusterctl clusterctl
fi
